#pragma once

#include "moe/passes/exchange_place.h"
#include "moe/program/op.h"

/// Fields that several decisions have in their JSON. All throw InputError where what is there is none.
namespace moe {

class InputObject;

/// "layer": a block of the model
int read_layer(const InputObject& input);
/// "phase": forward or backward
Phase read_phase(const InputObject& input);
/// "direction"
Direction read_direction(const InputObject& input);
/// "behind": what communication is put behind
ExchangePlace read_place(const InputObject& input);

}  // namespace moe
