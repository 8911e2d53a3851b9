#include "crew.h"

#include <system_error>

namespace gf {

namespace {

constexpr uint64_t kPartBits = 16, kPartMask = (1u << kPartBits) - 1;
constexpr int kLooks = 4096;  // some tenths of a millisecond; then another thread may have the core for a while

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Crew::Crew(int32_t helpers) {
  threads_.reserve((size_t)helpers);
  try {
    for (int32_t i = 0; i < helpers; i++) threads_.emplace_back([this] { help(); });
  } catch (const std::system_error &) {
    // A machine that has no more threads.
  }
}

Crew::~Crew() {
  leaving_.store(true, std::memory_order_release);
  for (std::thread &thread : threads_) thread.join();
}

bool Crew::take_part() {
  uint64_t state = state_.load(std::memory_order_acquire);
  const uint64_t part = state & kPartMask, parts = (state >> kPartBits) & kPartMask;
  if (part >= parts) return false;
  if (!state_.compare_exchange_strong(state, state + 1, std::memory_order_acq_rel)) return true;  // look again
  (*work_)((int32_t)part);
  done_.fetch_add(1, std::memory_order_release);
  return true;
}

void Crew::help() {
  for (int looks = 0; !leaving_.load(std::memory_order_acquire);) {
    if (take_part()) {
      looks = 0;
    } else if (++looks < kLooks) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void Crew::share(int32_t parts, const std::function<void(int32_t)> &work) {
  work_ = &work;
  done_.store(0, std::memory_order_relaxed);
  const uint64_t round = (state_.load(std::memory_order_relaxed) >> (2 * kPartBits)) + 1;
  state_.store(round << (2 * kPartBits) | (uint64_t)parts << kPartBits, std::memory_order_release);
  while (take_part()) {
  }
  for (int looks = 0; done_.load(std::memory_order_acquire) < parts;) {
    waits_ += ++looks == kLooks;
    if (looks < kLooks)
      pause();
    else
      std::this_thread::yield();
  }
  if (held_up()) leaving_.store(true, std::memory_order_release);
}

}  // namespace gf
