// The random numbers of one output: numpy's PCG64, so that a seed draws the same everywhere.
#pragma once

#include <cstdint>

namespace gf {

class Dice {
 public:
  Dice() = default;
  // The state and the increment, each as its high and its low half.
  explicit Dice(const uint64_t words[4])
      : state_((Wide)words[0] << 64 | words[1]), increment_((Wide)words[2] << 64 | words[3]) {}
  // Derived from a seed and the number of the output.
  Dice(uint64_t seed, uint64_t input, uint64_t sample) {
    uint64_t words[4], x = seed ^ (input * 0x9e3779b97f4a7c15u) ^ (sample * 0xd1b54a32d192ed03u);
    for (uint64_t &word : words) word = mix(x += 0x9e3779b97f4a7c15u);
    words[3] |= 1;
    *this = Dice(words);
  }

  // From 0 up to, but not including, 1.
  double next() {
    constexpr Wide multiplier = (Wide)0x2360ed051fc65da4u << 64 | 0x4385df649fccf645u;
    state_ = state_ * multiplier + increment_;
    const uint64_t folded = (uint64_t)(state_ >> 64) ^ (uint64_t)state_;
    const unsigned turn = (unsigned)(state_ >> 122);
    const uint64_t turned = folded >> turn | folded << ((64 - turn) & 63);
    return (double)(turned >> 11) * (1.0 / 9007199254740992.0);
  }

 private:
  using Wide = unsigned __int128;
  static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
  Wide state_ = 0, increment_ = 1;
};

}  // namespace gf
