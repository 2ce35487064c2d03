#include <cuda_runtime.h>
#include <dlfcn.h>
#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/thread_sanitizer.h"

namespace moelab::cuda_emulation {
namespace {

/// Where a variable that a block shares lies, from threadIdx on.
struct SharedVariable {
  std::int64_t offset;
  std::size_t bytes;
};

std::vector<char> read_own_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&read_own_file), &info) == 0) return {};
  std::ifstream file(info.dli_fname, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A variable of a function, and none of the emulation's own.
bool is_shared(const std::string& symbol) {
  return symbol.starts_with("_ZZ") && symbol.find("cuda_emulation") == std::string::npos;
}

/// The thread-local variables of functions in the symbol table of this program or library. One that
/// was stripped has none; its shared memory then begins with what the last block left.
std::vector<SharedVariable> find_shared_variables() {
  std::vector<SharedVariable> found;
  const std::vector<char> file = read_own_file();
  if (file.size() < sizeof(Elf64_Ehdr)) return found;
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
  std::int64_t own = -1;
  for (int section = 0; section < header->e_shnum; ++section) {
    if (sections[section].sh_type != SHT_SYMTAB) continue;
    const char* const names = file.data() + sections[sections[section].sh_link].sh_offset;
    const auto* const symbols =
        reinterpret_cast<const Elf64_Sym*>(file.data() + sections[section].sh_offset);
    for (std::size_t i = 0; i < sections[section].sh_size / sizeof(Elf64_Sym); ++i) {
      const Elf64_Sym& symbol = symbols[i];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF) continue;
      const char* const name = names + symbol.st_name;
      const auto value = static_cast<std::int64_t>(symbol.st_value);
      if (std::strcmp(name, "threadIdx") == 0) own = value;
      if (is_shared(name)) found.push_back({value, symbol.st_size});
    }
  }
  if (own < 0) return {};
  for (SharedVariable& variable : found) variable.offset -= own;
  return found;
}

}  // namespace

void poison_shared_memory() {
  static const auto& variables =
      *new std::vector<SharedVariable>(find_shared_variables());  // outlives the threads of streams
  char* const base = reinterpret_cast<char*>(&threadIdx);
  for (const SharedVariable& variable : variables) {
    if constexpr (kFiberPerThread) {
      // Byte by byte, for the thread sanitizer would take memset() for an access that races.
      volatile char* const begin = base + variable.offset;
      for (std::size_t i = 0; i < variable.bytes; ++i) begin[i] = static_cast<char>(0xff);
    } else {
      std::memset(base + variable.offset, 0xff, variable.bytes);
    }
  }
}

}  // namespace moelab::cuda_emulation
