// Helpers: every part of every round is done once, before control comes back.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "../src/crew.h"
#include "check.h"

namespace {

void test_every_part_is_done_once(int32_t helpers) {
  gf::Crew crew(helpers);
  CHECK(crew.size() == helpers + 1 && !crew.held_up());
  for (int32_t round = 0; round < 5000; round++) {
    const int32_t parts = round % 9;
    std::vector<int32_t> times((size_t)parts, 0);  // plain: whoever comes late would be seen by the thread sanitizer
    crew.share(parts, [&](int32_t part) { times[(size_t)part]++; });
    for (int32_t each : times) CHECK(each == 1);
  }
}

// A helper stands still in its part again and again; then the caller works alone.
void test_whoever_is_held_up_goes_on_alone() {
  gf::Crew crew(1);
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < 1000000 && !crew.held_up(); round++)
    crew.share(2, [&](int32_t) {
      if (std::this_thread::get_id() != caller) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
  CHECK(crew.held_up() && crew.size() == 1);
  int32_t parts = 0;
  crew.share(3, [&](int32_t) { parts++; });
  CHECK(parts == 3);
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
  test_whoever_is_held_up_goes_on_alone();
  test_crews_do_not_meet();
  return finished("crew");
}
