// Threads that help another one with its products, for as long as it has nothing to do but wait for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace gf {

// A sentence that is decoded alone fetches all weights for each token; two cores fetch them faster than one. The
// helpers look for work all the time, since a thread that sleeps wakes up too late for products of microseconds.
// Fewer helpers than asked for, or none, do the same work: whoever calls takes every part that nobody else has.
// Where the cores are wanted by others, a helper may stand still in the middle of its part; once the caller had to
// wait for that a few times, all of them go.
class Crew {
 public:
  explicit Crew(int32_t helpers);
  ~Crew();
  Crew(const Crew &) = delete;
  Crew &operator=(const Crew &) = delete;

  int32_t size() const { return held_up() ? 1 : (int32_t)threads_.size() + 1; }
  // How often the caller had to wait long; and whether that was too often.
  int32_t waits() const { return waits_; }
  bool held_up() const { return waits_ >= kMostWaits; }
  // Calls work(part) once for each part from 0 on; gives back control when all are done. `work` must not throw.
  void share(int32_t parts, const std::function<void(int32_t)> &work);

 private:
  void help();
  bool take_part();

  // The round, how many parts it has, and the next one to be taken, as one number: whoever takes a part can only
  // have taken it of the round that is going on, and that does not end before the part is done.
  std::atomic<uint64_t> state_{0};
  std::atomic<int32_t> done_{0};
  std::atomic<bool> leaving_{false};
  const std::function<void(int32_t)> *work_ = nullptr;
  static constexpr int32_t kMostWaits = 3;
  int32_t waits_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace gf
