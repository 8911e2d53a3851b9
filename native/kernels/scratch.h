// What kernels of one instruction set need besides arithmetic. Nothing here has a name outside its file: a function
// that two files share may be taken by the linker from the one that was compiled for another processor.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include <new>

namespace gf {

namespace {

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Floats that begin at a cache line, with room for a vector behind their end.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch() { free(data_); }

  // At least n floats; what was inside is lost if it has to grow.
  float *reserve(int64_t n) {
    if (n > size_) {
      void *fresh = nullptr;
      if (posix_memalign(&fresh, 64, (size_t)(n + 16) * sizeof(float)) != 0) throw std::bad_alloc();
      free(data_);
      data_ = static_cast<float *>(fresh);
      size_ = n;
    }
    return data_;
  }

 private:
  float *data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace

}  // namespace gf
