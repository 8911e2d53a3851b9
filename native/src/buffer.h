// Memory that begins at a cache line. Not filled unless asked, so that pages nobody touches cost nothing.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace gf {

inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

template <typename T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t n) { reserve(n); }
  Buffer(Buffer &&other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer &operator=(Buffer &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  // Room for n elements; what was inside is lost if it has to grow. Throws std::bad_alloc.
  void reserve(int64_t n) {
    if (n <= size_) return;
    constexpr int64_t most = INT64_MAX / (int64_t)sizeof(T) - 128;
    void *fresh = nullptr;
    if (n > most || posix_memalign(&fresh, 64, (size_t)(n * (int64_t)sizeof(T) + 64)) != 0) throw std::bad_alloc();
    std::free(data_);
    data_ = static_cast<T *>(fresh);
    size_ = n;
  }
  void zero() {
    if (size_) std::memset(data_, 0, (size_t)(size_ * (int64_t)sizeof(T)));
  }
  T *data() { return data_; }
  const T *data() const { return data_; }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * (int64_t)sizeof(T); }
  T &operator[](int64_t i) { return data_[i]; }
  const T &operator[](int64_t i) const { return data_[i]; }

 private:
  T *data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace gf
