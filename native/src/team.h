// Work that the caller's own threads share: each takes the next piece until none is left.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

namespace gf {

// Runs `work` in several threads at once and waits for them: OpenMP's GOMP_parallel.
using Parallel = void (*)(void (*work)(void *), void *data, unsigned threads, unsigned flags);

struct Team {
  int threads;
  Parallel parallel;  // null: one thread

  // piece(0) … piece(count - 1), each once, whichever thread does it; a team may turn out smaller than was asked for.
  // An std::bad_alloc of any piece is thrown when all are done.
  template <typename Piece>
  void share(int64_t count, Piece &&piece) const {
    Job<Piece> job{count, piece};
    if (threads > 1 && parallel && count > 1)
      parallel([](void *data) { static_cast<Job<Piece> *>(data)->work(); }, &job, (unsigned)threads, 0);
    else
      job.work();
    if (job.short_of_memory) throw std::bad_alloc();
  }

 private:
  template <typename Piece>
  struct Job {
    const int64_t count;
    Piece &piece;
    std::atomic<int64_t> next{0};
    std::atomic<bool> short_of_memory{false};

    void work() noexcept {
      try {
        for (int64_t index; (index = next.fetch_add(1)) < count;) piece(index);
      } catch (const std::bad_alloc &) {
        short_of_memory = true;
      }
    }
  };
};

}  // namespace gf
