#include "moe/run/core_sharing.h"

#include "moe/threads.h"

namespace moe {

void share_core_as(Backend& backend, Stream stream) {
  const bool computes = stream == Stream::compute && backend.native_stream(stream) == nullptr;
  use_core(computes ? CoreUse::computes : CoreUse::waits);
}

}  // namespace moe
