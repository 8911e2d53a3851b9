// A whole batch: sentences are shared out among threads, each with a session of its own.
#include "translate.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "failure.h"
#include "inputs.h"
#include "session.h"

namespace gf {

void in_threads(int32_t n, const std::function<void()> &work) {
  std::exception_ptr failure;
  std::mutex guard;
  auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  try {
    for (int32_t i = 1; i < n; i++) threads.emplace_back(guarded);
  } catch (const std::system_error &) {
    // Fewer threads than asked for do the same work.
  }
  guarded();
  for (std::thread &thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

namespace {

constexpr int32_t kMostHelpers = 3;  // memory is no faster for more
// Where other programs want the cores, helpers are a hindrance: one long wait in sixteen calls is luck, some in a row
// are not, and then calls do without helpers for a while.
constexpr int32_t kWait = 16, kTooMuch = 3 * kWait, kRest = 512;
std::atomic<int32_t> strain{0}, resting{0};

void learn_from(const Crew &crew) {
  const int32_t now = std::max(strain.load(std::memory_order_relaxed) - 1, 0) + kWait * crew.waits();
  strain.store(now < kTooMuch ? now : 0, std::memory_order_relaxed);
  if (now >= kTooMuch) resting.store(kRest, std::memory_order_relaxed);
}

// How many threads should help one that decodes alone, of those that have nothing to do. Weights that stay in the
// cache are read faster than a thread is begun.
int32_t worth_helping(const Model &model, int32_t idle) {
  if (idle < 1 || model.fits_cache()) return 0;
  int32_t left = resting.load(std::memory_order_relaxed);
  while (left > 0)
    if (resting.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) return 0;
  return std::min(idle, kMostHelpers);
}

}  // namespace

void check_cancelled(const gf_options &options) {
  if (options.cancel && *options.cancel) throw Failure(GF_CANCELLED, "cancelled");
}

std::vector<std::vector<Hypothesis>> translate(const Model &model, const gf_batch &batch, const gf_options &given) {
  const auto options = std::make_shared<const Options>(given, model.config);
  check_batch(batch, model);
  std::vector<std::vector<Hypothesis>> found((size_t)batch.n);
  if (batch.n == 0) return found;
  std::vector<Query> queries;
  queries.reserve((size_t)batch.n);
  for (int32_t i = 0; i < batch.n; i++) queries.push_back(read_query(batch, i, model, options));

  // Long ones first: those that are decoded side by side are then alike, and the end is not one long straggler.
  std::vector<int32_t> order((size_t)batch.n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return queries[(size_t)a].ids.size() > queries[(size_t)b].ids.size();
  });
  const int32_t threads = std::min(options->plain.threads, batch.n);
  const int32_t wanted = options->plain.batch_rows ? options->plain.batch_rows : default_rows(model);
  // No more at once than an equal share: every thread has something to do.
  const int64_t share = ((int64_t)batch.n + threads - 1) / threads * options->rows;
  const int32_t rows = std::max((int32_t)std::min<int64_t>(wanted, share), options->rows);
  std::atomic<int64_t> next{0};
  const int32_t helpers = worth_helping(model, options->plain.threads / threads - 1);

  in_threads(threads, [&] {
    std::unique_ptr<Crew> crew(helpers ? new Crew(helpers) : nullptr);
    Session session(model, rows, crew.get());
    std::vector<int32_t> owner;
    const int32_t worth_reading = std::max(rows / 4, options->rows);  // few sources at once are read slowly
    for (;;) {
      check_cancelled(options->plain);
      bool reading = session.free_rows() >= worth_reading || session.live() == 0;
      while (reading && session.free_rows() >= options->rows) {
        const int64_t at = next.fetch_add(1);
        reading = at < batch.n;
        if (!reading) break;
        const int32_t index = order[(size_t)at];
        const int32_t slot = session.add(std::move(queries[(size_t)index]));
        if ((size_t)slot >= owner.size()) owner.resize((size_t)slot + 1);
        owner[(size_t)slot] = index;
      }
      if (session.live() == 0) break;
      for (int32_t slot : session.step()) {
        std::vector<Hypothesis> &results = found[(size_t)owner[(size_t)slot]];
        const Found &best = session.sentence(slot).found();
        for (int32_t i = 0; i < best.size(); i++) results.push_back(best[i]);
        session.remove(slot);
      }
    }
    if (crew) learn_from(*crew);
  });
  return found;
}

}  // namespace gf
