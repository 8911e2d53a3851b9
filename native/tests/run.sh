#!/bin/sh
# Compile and run the native tests.
#
#   native/tests/run.sh                                  as the engine is built
#   native/tests/run.sh address,undefined [ROUNDS]       with sanitizers, and that many rounds of fuzzing
#   native/tests/run.sh thread [ROUNDS]                  the same, looking for races
set -eu
cd "$(dirname "$0")/.."
sanitizers=${1:-}
rounds=${2:-200}
build=${BUILD_DIR:-../build/native-tests${sanitizers:+-$(echo "$sanitizers" | tr , -)}}
common="-std=c++17 -fPIC -pthread -Wall -Wextra -Iinclude -I."
if [ -z "$sanitizers" ]; then
  common="$common -O2"
else
  common="$common -O1 -g1 -fno-omit-frame-pointer -fsanitize=$sanitizers -fno-sanitize-recover=all"
fi
mkdir -p "$build"
part=all
objects=
while read -r source flags; do
  case $source in
    ''|'#'*) continue ;;
    '['*) part=$(echo "$source" | tr -d '[]'); continue ;;
  esac
  [ "$part" = all ] || [ "$part" = "$(uname -m)" ] || continue
  object=$build/$(basename "$source" .cpp).o
  objects="$objects $object"
  # An object is made again when any source or header of the engine is newer.
  if [ ! -e "$object" ] || [ -n "$(find src kernels include -newer "$object" \( -name '*.h' -o -path "$source" \))" ]; then
    # shellcheck disable=SC2086
    ${CXX:-g++} $common $flags -c "$source" -o "$object"
  fi
done < sources.txt
export ASAN_OPTIONS="allocator_may_return_null=1:${ASAN_OPTIONS:-}"
for test in test_kernels test_training test_crew test_engine fuzz; do
  # shellcheck disable=SC2086
  ${CXX:-g++} $common "tests/$test.cpp" $objects -o "$build/$test"
  if [ "$test" = fuzz ]; then "$build/fuzz" "${SEED:-1}" "$rounds"; else "$build/$test"; fi
done
