// The best hypotheses of a sentence so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gf {

struct Hypothesis {
  std::vector<int32_t> ids;
  std::vector<float> log_probabilities;  // of each id, and of the end if finished
  std::vector<float> attention;          // one row per log-probability, if wanted
  double score = 0.0, log_probability = 0.0;
  bool finished = false;
  int32_t n_forced = 0;
};

// A few places, best first, finished ones before others. Room is made once: adding does not allocate.
class Found {
 public:
  void reserve(int32_t places, int64_t length, int64_t attention);
  // The one to fill in before `add`.
  Hypothesis &spare() { return kept_[(std::size_t)n_]; }
  // Keeps the spare one if it is new and good enough; an unfinished one only where a place is free.
  void add();
  // The same for samples: each has a place of its own, and two may be equal.
  void add_sample();
  int32_t size() const { return n_; }
  bool full() const { return n_ == places_; }
  const Hypothesis &operator[](int32_t i) const { return kept_[(std::size_t)i]; }

 private:
  void sort_in();

  std::vector<Hypothesis> kept_;  // one more than there are places
  int32_t places_ = 0, n_ = 0;
};

}  // namespace gf
