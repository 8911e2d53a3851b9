// Checks for the native tests: a failure says where and what, and the program ends with 1.
#pragma once

#include <cstdio>
#include <cstdlib>

inline int &failures() {
  static int count = 0;
  return count;
}

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);      \
      failures()++;                                                                  \
    }                                                                                \
  } while (false)

inline int finished(const char *name) {
  std::printf("%s: %s\n", name, failures() ? "FAILED" : "passed");
  return failures() ? 1 : 0;
}
