#pragma once

namespace moe {

/// Makes every TCP socket on which this process listens unreachable from other machines. Open MPI's
/// ranks listen on all interfaces, whatever its settings say. Where the kernel (before Linux 5.7)
/// does not permit it, they stay as they are.
void listen_on_loopback_alone();

}  // namespace moe
