#pragma once

#include <string_view>

#include "moe/passes/exchange_place.h"
#include "moe/program/op.h"

/// Fields that several decisions have in their JSON. Each function throws InputError where the
/// value does not fit.
namespace moe {

class InputObject;

/// The name under which `input` has a field: `key`, or the `former` name of it in older files.
std::string_view key_of(const InputObject& input, std::string_view key, std::string_view former);

/// "layer": a block of the model
int read_layer(const InputObject& input);
/// "phase": forward or backward
Phase read_phase(const InputObject& input);
/// "direction"
Direction read_direction(const InputObject& input);
/// "after", called "behind" in older files: the place in a block after which ops are put
ExchangePlace read_place(const InputObject& input);

}  // namespace moe
