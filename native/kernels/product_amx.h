// The int8 matrix product for AMX: tiles of 16 rows by 16 columns by 64 features, signed values by unsigned weights.
//
// The tile shape is configured here without asking CPUID, since some virtual machines hide the leaf that tells it.
// Few rows go through VNNI: a tile that is nearly empty costs as much as a full one.
#pragma once

#include "product_avx512vnni.h"

namespace gf {
namespace GF_ISA {

constexpr int kRowsForTiles = 8;  // from so many on, tiles are faster

struct __attribute__((packed)) TileShapes {
  uint8_t palette, start;
  uint8_t reserved[14];
  uint16_t column_bytes[16];
  uint8_t rows[16];
};

// Tiles 0 to 3 are sums, 4 and 5 values, 6 and 7 weights.
static void configure_tiles() {
  TileShapes shapes;
  memset(&shapes, 0, sizeof shapes);
  shapes.palette = 1;
  for (int i = 0; i < 8; i++) {
    shapes.column_bytes[i] = 64;
    shapes.rows[i] = 16;
  }
  _tile_loadconfig(&shapes);
}

// 16 or 32 rows by 32 columns; buffers of values have room for 32 rows more than are used.
GF_INLINE void int8_tiles(const Matrix &m, const int8_t *values, int64_t byte_stride, bool two, int n, int half,
                          int32_t sums[4][16 * kLanes]) {
  const uint8_t *weights = m.bytes + (int64_t)n * m.features + half * 128;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int k = 0; k < m.features; k += 64, weights += 64 * kBlock) {
    _tile_loadd(4, values + k, byte_stride);
    _tile_loadd(6, weights, 4 * kBlock);
    _tile_loadd(7, weights + 64, 4 * kBlock);
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 7);
    if (two) {
      _tile_loadd(5, values + 16 * byte_stride + k, byte_stride);
      _tile_dpbsud(2, 5, 6);
      _tile_dpbsud(3, 5, 7);
    }
  }
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[1], 64);
  if (two) {
    _tile_stored(2, sums[2], 64);
    _tile_stored(3, sums[3], 64);
  }
}

static void tile_product(const Matrix &m, const Rows &x, int rows, int first, int last, float *out, int64_t stride,
                         bool add) {
  configure_tiles();
  alignas(64) int32_t sums[4][16 * kLanes];
  for (int n = first; n < last; n += kBlock, out += kBlock)
    for (int half = 0; half < 2; half++)
      for (int row = 0; row < rows; row += 32) {
        const bool two = row + 16 < rows;
        int8_tiles(m, x.bytes + row * x.byte_stride, x.byte_stride, two, n, half, sums);
        for (int r = row; r < rows && r < row + 32; r++) {
          const int tile = (r - row) / 16 * 2, line = (r - row) % 16, at = half * 32;
          Ints pair[2];
          const Ints offset = {_mm512_set1_epi32(-kWeightOffset * x.sum[r])};
          GF_UNROLLED
          for (int v = 0; v < 2; v++) pair[v] = load_ints(sums[tile + v] + line * kLanes) + offset;
          finish_columns(pair, 2, x.scale[r], m.scale + n + at, m.bias + n + at, out + r * stride + at, add);
        }
      }
  _tile_release();
}

}  // namespace GF_ISA
}  // namespace gf
