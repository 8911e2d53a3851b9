// Products of large float32 matrices, for training: C = A B (+ bias, or + C), on several threads.
#pragma once

#include <cstdint>

namespace gf {

// Runs `work` in several threads at once and waits for them: OpenMP's GOMP_parallel.
using Parallel = void (*)(void (*work)(void *), void *data, unsigned threads, unsigned flags);

// Element (i, j) is data[i * rows_apart + j * columns_apart]; one of the two is 1.
struct Strided {
  const float *data;
  int64_t rows_apart, columns_apart;
};

struct LargeProduct {
  int64_t m, n, k;
  Strided a;          // (m, k)
  Strided b;          // (n, k): the second factor, turned over
  float *c;           // (m, n)
  int64_t c_rows_apart;
  const float *bias;  // (n), or null
  bool add;           // to what is in c
};

// Whether this processor can do it.
bool has_large_product();

// Each element is summed in one order, which depends on k alone: not on threads, nor on the other rows and columns.
// Without `parallel` there is one thread. Throws std::bad_alloc, and c is then worth nothing.
void large_product(const LargeProduct &product, int threads, Parallel parallel);

}  // namespace gf
