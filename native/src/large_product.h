// Products of large float32 matrices, for training: C = A B (+ bias, or + C), on several threads.
#pragma once

#include "team.h"

namespace gf {

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

// Each element is summed in one order, which depends on k alone: not on threads, nor on the other rows and columns.
// Throws std::bad_alloc, and c is then worth nothing.
void large_product(const LargeProduct &product, const Team &team);

}  // namespace gf
