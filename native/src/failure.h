// Why a call is refused: thrown inside, turned into a status and a message at the border.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "../include/glassformer.h"

namespace gf {

class Failure : public std::runtime_error {
 public:
  Failure(int32_t code, const std::string &message) : std::runtime_error(message), status(code) {}
  const int32_t status;
};

[[noreturn]] inline void invalid(const std::string &message) { throw Failure(GF_INVALID, message); }
inline void require(bool holds, const std::string &message) {
  if (!holds) invalid(message);
}

}  // namespace gf
