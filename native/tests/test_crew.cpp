// Helpers: every part of every round is done once, before control comes back.
#include <atomic>
#include <thread>
#include <vector>

#include "../src/crew.h"
#include "check.h"

namespace {

void test_every_part_is_done_once(int32_t helpers) {
  gf::Crew crew(helpers);
  CHECK(crew.size() == helpers + 1);
  for (int32_t round = 0; round < 5000; round++) {
    const int32_t parts = round % 9;
    std::vector<int32_t> times((size_t)parts, 0);  // plain: whoever comes late would be seen by the thread sanitizer
    crew.share(parts, [&](int32_t part) { times[(size_t)part]++; });
    for (int32_t each : times) CHECK(each == 1);
  }
}

void test_crews_do_not_meet() {
  std::atomic<int32_t> total{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++)
    threads.emplace_back([&] {
      gf::Crew crew(2);
      for (int round = 0; round < 500; round++) crew.share(4, [&](int32_t) { total++; });
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(total == 3 * 500 * 4);
}

}  // namespace

int main() {
  for (int32_t helpers : {0, 1, 3}) test_every_part_is_done_once(helpers);
  test_crews_do_not_meet();
  return finished("crew");
}
