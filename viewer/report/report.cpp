#include "viewer/report/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "db/console/output_error.h"
#include "db/console/output_file.h"
#include "db/error.h"
#include "viewer/report/page.h"
#include "viewer/report/pictures.h"
#include "viewer/report/search_facts.h"
#include "viewer/report/search_page.h"
#include "viewer/report/study_facts.h"
#include "viewer/report/tables.h"

namespace viewer {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPage = "index.html";
constexpr float kScale = 1.2F;  // pages show pictures smaller than they are

// The folder of a report. Unless it is kept, it leaves nothing behind of what was written into it.
class ReportFolder {
 public:
  explicit ReportFolder(const std::string& path) : path_(path) {
    make();
    db::expect_output((fs::path(path_) / kPage).string());
  }
  ReportFolder(const ReportFolder&) = delete;
  ReportFolder& operator=(const ReportFolder&) = delete;
  ~ReportFolder() {
    if (kept_) return;
    std::error_code ignored;
    for (const std::string& file : files_) fs::remove(fs::path(path_) / file, ignored);
    if (made_) fs::remove(path_, ignored);
  }

  void write(const std::string& file, const std::string& text) {
    db::write_output((fs::path(path_) / file).string(), text);
    files_.push_back(file);
  }
  void keep() { kept_ = true; }

 private:
  void make() {
    std::error_code failed;
    if (fs::exists(path_, failed)) {
      if (!fs::is_directory(path_, failed)) refuse("is a file; a report needs a folder");
      if (!fs::is_empty(path_, failed)) {
        refuse(failed ? failed.message().c_str()
                      : "is not empty; a report needs a folder of its own");
      }
      return;
    }
    made_ = fs::create_directory(path_, failed);
    if (failed) refuse(("cannot be made: " + failed.message()).c_str());
  }

  [[noreturn]] void refuse(const char* why) const {
    throw db::OutputError(fmt::format("{}: {}", path_, why), db::kExitWrongUse);
  }

  std::string path_;
  std::vector<std::string> files_;
  bool made_ = false;
  bool kept_ = false;
};

}  // namespace

void write_report(Session& session, const std::string& path) {
  ReportFolder folder(path);
  const std::optional<SearchFacts> search = gather_search(session);
  std::optional<StudyFacts> study;
  if (!search) study = gather_study(session);
  const std::vector<CsvTable> tables =
      search ? search_tables(session.connection) : csv_tables(session.connection, *study);
  if (!session.problem.empty()) throw db::Error(db::ErrorKind::corrupt, session.problem);
  std::vector<Picture> pictures;
  {
    Window window("moe-view", 1, 1, false, kScale);
    pictures = search ? draw_setups(session, window, search->run.id) : draw_panels(session, window);
  }
  for (const CsvTable& table : tables) folder.write(table.file, table.text);
  for (const Picture& picture : pictures) folder.write(picture.file, picture.png);
  const std::string& database = session.connection.path();
  folder.write(kPage, search ? search_page(*search, pictures, tables, database)
                             : report_page(*study, pictures, tables, database));
  folder.keep();
}

}  // namespace viewer
