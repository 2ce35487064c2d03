#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Settings of Open MPI's TCP transport; other MPIs ignore them. Needs no MPI.
namespace moe {

/// The longest fragment of a message that goes to another node without a handshake.
inline constexpr std::int64_t kEagerFragmentBytes = std::int64_t{128} << 10;
/// Room for Open MPI's own header, more than any of its versions needs.
inline constexpr std::int64_t kMpiHeaderBytes = 256;

/// Sets what moelab's messages want, each only where the user has set no value of his own, in the
/// environment or in a parameter file. Before MPI_Init.
///
/// Open MPI asks the receiver before it sends more than its eager limit. The answer queues behind
/// what travels the other way on the same connection, and when all ranks exchange at once the card
/// idles meanwhile: all-to-all of 2 MiB between 2 nodes took 1.65 times as long as its bytes.
/// So fragments are eager, and go straight from the caller's memory.
void set_transport_defaults();

/// Open MPI's parameter files of this user and this installation.
std::vector<std::string> parameter_files();

/// True where the environment (OMPI_MCA_<name>) or one of the files sets the parameter.
bool user_has_set(const std::string& name, std::span<const std::string> files);

}  // namespace moe
