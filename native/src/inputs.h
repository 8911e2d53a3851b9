// The inputs of a batch: every size and every id is checked before anything is done with it.
#pragma once

#include <memory>

#include "sentence.h"

namespace gf {

// Refuses a batch whose parts do not fit together.
void check_batch(const gf_batch &batch, const Model &model);
// Refuses ragged data that is not rising from 0, or has ids outside [0, size). least: of each item's length.
void check_ragged(const char *name, const int32_t *ids, const int64_t *offsets, int64_t n, int64_t least,
                  int32_t size);
// One input of a checked batch.
Query read_query(const gf_batch &batch, int32_t index, const Model &model, std::shared_ptr<const Options> options);

}  // namespace gf
