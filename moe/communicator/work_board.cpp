#include "moe/communicator/work_board.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace moe {
namespace {

/// Open MPI hands variables that begin so on to the ranks of other hosts.
constexpr const char* kBoardVariable = "OMPI_MOELAB_WORK";
constexpr const char* kBoardFile = "moelab-work";
/// Of a rank: a number that changes with every note, a blank, the note, zeros.
constexpr std::size_t kPlaceBytes = 256;

}  // namespace

WorkBoard::WorkBoard() : file_(kBoardFile, kBoardVariable) {}

std::vector<WorkBoard::Note> WorkBoard::look() {
  std::string text = file_.text();
  std::vector<Note> notes;
  for (std::size_t at = 0; at < text.size(); at += kPlaceBytes) {
    const std::string place = text.substr(at, kPlaceBytes);
    if (place.front() == '\0' ||
        seen_.compare(std::min(at, seen_.size()), kPlaceBytes, place) == 0) {
      continue;
    }
    const std::string note(place.c_str());  // to the first zero
    const std::size_t blank = note.find(' ');
    notes.push_back({static_cast<int>(at / kPlaceBytes),
                     blank == std::string::npos ? "" : note.substr(blank + 1)});
  }
  seen_ = std::move(text);
  return notes;
}

WorkNotes::WorkNotes(int rank) : rank_(rank), file_(open_memory_file(kBoardFile, kBoardVariable)) {}

WorkNotes::~WorkNotes() {
  if (file_ >= 0) close(file_);
}

void WorkNotes::note(std::string_view what) {
  if (file_ < 0) return;
  std::string place = fmt::format("{} {}", ++notes_, what);
  place.resize(kPlaceBytes - 1);  // longer ones are cut
  place += '\0';
  [[maybe_unused]] const auto written =
      pwrite(file_, place.data(), place.size(), static_cast<off_t>(rank_ * kPlaceBytes));
}

}  // namespace moe
