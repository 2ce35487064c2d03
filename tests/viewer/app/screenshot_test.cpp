#include <gtest/gtest.h>
#include <png.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/store.h"
#include "tests/viewer/synthetic_database.h"
#include "viewer/app/app.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/window/window.h"

/// Real pictures: these need a display, Xvfb's will do.
namespace viewer::screenshot_test {
namespace {

namespace fs = std::filesystem;

Image read_png(const std::string& path) {
  png_image description;
  std::memset(&description, 0, sizeof description);
  description.version = PNG_IMAGE_VERSION;
  Image image;
  if (png_image_begin_read_from_file(&description, path.c_str()) == 0) return image;
  description.format = PNG_FORMAT_RGB;
  image = {static_cast<int>(description.width), static_cast<int>(description.height), {}};
  image.rgb.resize(PNG_IMAGE_SIZE(description));
  png_image_finish_read(&description, nullptr, image.rgb.data(), 0, nullptr);
  return image;
}

std::size_t distinct_colors(const Image& image) {
  std::set<unsigned> colors;
  for (std::size_t i = 0; i + 2 < image.rgb.size(); i += 3) {
    colors.insert(image.rgb[i] * 65536U + image.rgb[i + 1] * 256U + image.rgb[i + 2]);
  }
  return colors.size();
}

// Share of pixels near `color`, a little tolerance for blending.
double share_of(const Image& image, Color color) {
  const auto near = [](std::uint8_t pixel, float channel) {
    return std::abs(pixel - channel * 255) < 4;
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i + 2 < image.rgb.size(); i += 3) {
    count += near(image.rgb[i], color.r) && near(image.rgb[i + 1], color.g) &&
             near(image.rgb[i + 2], color.b);
  }
  return static_cast<double>(count) / (image.rgb.size() / 3.0);
}

// Pictures stay where MOE_VIEW_PICTURES points, for people to look at.
fs::path pictures() {
  if (const char* kept = std::getenv("MOE_VIEW_PICTURES")) return kept;
  return fs::temp_directory_path() / ("moe_view_pictures_" + std::to_string(getpid()));
}

class Screenshot : public ::testing::Test {
 protected:
  Screenshot() : folder(pictures()) {
    fs::create_directories(folder);
    fs::remove(folder / "results.db");
    db::Connection connection = db::open_writer((folder / "results.db").string());
    ids = fill_synthetic_database(connection);
    db::insert(connection, std::vector{synthetic_setup(ids, 4, 1, "ep=4", 0.010, 400 << 20),
                                       synthetic_setup(ids, 4, 2, "dp=2,ep=2", 0.011, 500 << 20),
                                       synthetic_setup(ids, 4, 3, "ep=2,tp=2", 0.012, 300 << 20)});
  }
  ~Screenshot() override {
    if (std::getenv("MOE_VIEW_PICTURES") == nullptr) fs::remove_all(folder);
  }

  int moe_view(const std::string& arguments) const {
    const std::string command =
        "'" MOE_VIEW "' '" + (folder / "results.db").string() + "' " + arguments;
    return WEXITSTATUS(std::system(command.c_str()));
  }

  void keep(const Image& image, const std::string& name) const {
    std::ofstream(folder / name, std::ios::binary) << encode_png(image);
  }

  fs::path folder;
  SyntheticIds ids;
};

TEST_F(Screenshot, OfEveryPanelIsAPictureOfTheSizeAskedFor) {
  for (const Panel& shown : all_panels()) {
    const std::string panel = shown.name;
    const std::string path = (folder / (panel + ".png")).string();
    ASSERT_EQ(moe_view("--run 3 --size 1600x900 --panel " + panel + " --screenshot '" + path + "'"),
              0);
    const Image image = read_png(path);
    EXPECT_EQ(image.width, 1600) << panel;
    EXPECT_EQ(image.height, 900) << panel;
    EXPECT_GT(distinct_colors(image), 200U) << panel << " is blank";
    EXPECT_GT(fs::file_size(path), 20000U) << panel;
  }
}

TEST_F(Screenshot, OfATimelineShowsComputationAndCommunicationInTheirColours) {
  const std::string path = (folder / "study.png").string();
  ASSERT_EQ(moe_view("--screenshot '" + path + "'"), 0);
  const Image image = read_png(path);
  db::TimelineOp op;
  op.kind = "all_to_all";
  op.activity = "communication";
  EXPECT_GT(share_of(image, op_color(op)), 0.002);
  op.kind = "linear";
  op.activity = "computation";
  EXPECT_GT(share_of(image, op_color(op)), 0.01);
}

TEST_F(Screenshot, MayBeLargerThanTheScreen) {
  const std::string path = (folder / "large.png").string();
  ASSERT_EQ(moe_view("--size 3000x1700 --screenshot '" + path + "'"), 0);
  const Image image = read_png(path);
  EXPECT_EQ(image.width, 3000);
  EXPECT_GT(distinct_colors(image), 200U);
}

TEST_F(Screenshot, InAFolderThatIsNotThereIsWrongUse) {
  EXPECT_EQ(moe_view("--screenshot /nonexistent/folder/x.png 2>/dev/null"), 2);
}

TEST_F(Screenshot, IsWrittenThroughLinksAndPipes) {
  const fs::path link = folder / "link.png", target = folder / "target.png";
  fs::remove(link);
  fs::create_symlink(target, link);
  ASSERT_EQ(moe_view("--screenshot '" + link.string() + "'"), 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_png(target.string()).width, 1600);

  const fs::path pipe = folder / "pipe", copy = folder / "copy.png";
  fs::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string reader = "cat '" + pipe.string() + "' > '" + copy.string() + "' & ";
  const std::string view = "'" MOE_VIEW "' '" + (folder / "results.db").string() +
                           "' --screenshot '" + pipe.string() + "'; code=$?; wait; exit $code";
  ASSERT_EQ(WEXITSTATUS(std::system((reader + view).c_str())), 0);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(read_png(copy.string()).width, 1600);
}

TEST_F(Screenshot, ThatADeviceTakesNoMoreOfIsAFailure) {
  // By a link: should the device ever be replaced again, it is not the machine's own.
  const fs::path full = folder / "full";
  fs::remove(full);
  fs::create_symlink("/dev/full", full);
  EXPECT_EQ(moe_view("--screenshot '" + full.string() + "' 2>/dev/null"), 1);
  EXPECT_TRUE(fs::is_symlink(full));
}

TEST_F(Screenshot, DoesNotReplaceTheDatabase) {
  const fs::path database = folder / "results.db";
  EXPECT_EQ(moe_view("--screenshot '" + database.string() + "' 2>/dev/null"), 2);
  EXPECT_EQ(moe_view("--screenshot '" + (folder / "after.png").string() + "'"), 0);
}

TEST_F(Screenshot, OfSelectionTooltipAndKeysDiffersFromThePlainOne) {
  const db::Connection connection = db::open_reader((folder / "results.db").string());
  Start start;
  start.run = ids.pipelined_run;
  App app{open_session(connection, start)};
  Window window("pictures", 1600, 900, false);
  app.fonts = window.fonts();
  const auto draw = [&] { draw_app(app); };
  const Image plain = window.render(draw, 1600, 900, 4);

  auto& panel = app.states.of<TimelinePanel>();
  panel.view = {0.12, 0.24};
  panel.selected = StackPosition{0, {1, 3}};
  panel.range = TimeRange{0.14, 0.2};
  ImGui::GetIO().MousePos = {800, 197};
  const Image selected = window.render(draw, 1600, 900, 4);
  keep(selected, "selection.png");
  EXPECT_NE(plain.rgb, selected.rgb);
  EXPECT_TRUE(panel.hovered);

  app.help = true;
  panel.own_axis = true;
  panel.range.reset();
  const Image help = window.render(draw, 1600, 900, 4);
  keep(help, "keys.png");
  EXPECT_NE(help.rgb, selected.rgb);

  app.help = false;
  select_trial(app.session, ids.best_trial);
  keep(window.render(draw, 1600, 900, 4), "trial.png");
  EXPECT_EQ(app.session.timelines.size(), 3U);
}

// One pixel for each block of kBlock x kBlock pixels, its mean. Letters of another font
// and edges of another driver leave it nearly as it is, areas and colours do not.
constexpr int kBlock = 10;

Image reduced(const Image& image) {
  Image small{image.width / kBlock, image.height / kBlock, {}};
  for (int y = 0; y < small.height; ++y) {
    for (int x = 0; x < small.width; ++x) {
      for (int channel = 0; channel < 3; ++channel) {
        int sum = 0;
        for (int dy = 0; dy < kBlock; ++dy) {
          for (int dx = 0; dx < kBlock; ++dx) {
            const int pixel = (y * kBlock + dy) * image.width + x * kBlock + dx;
            sum += image.rgb[static_cast<std::size_t>(pixel * 3 + channel)];
          }
        }
        small.rgb.push_back(static_cast<std::uint8_t>(sum / (kBlock * kBlock)));
      }
    }
  }
  return small;
}

// Share of the values that differ by more than a tenth of the whole scale.
double share_of_differences(const Image& a, const Image& b) {
  std::size_t differences = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) {
    differences += std::abs(int{a.rgb[i]} - int{b.rgb[i]}) > 25;
  }
  return static_cast<double>(differences) / static_cast<double>(a.rgb.size());
}

constexpr double kMostDifferences = 0.02;  // of a picture that counts as the same

/// Pictures against those in tests/golden/viewer, a few kB each. After a change that is meant to be
/// seen, write them anew and look at what changed:
///     MOE_VIEW_GOLDEN=write build/ci/bin/viewer_display_tests --gtest_filter='Golden.*'
class Golden : public Screenshot {
 protected:
  void compare(const std::string& name, const std::string& arguments) {
    const std::string path = (folder / (name + ".png")).string();
    ASSERT_EQ(moe_view(arguments + " --size 1200x700 --screenshot '" + path + "'"), 0);
    const Image now = reduced(read_png(path));
    const fs::path golden = fs::path(GOLDEN_PICTURES) / (name + ".png");
    if (std::getenv("MOE_VIEW_GOLDEN") != nullptr) {
      fs::create_directories(golden.parent_path());
      std::ofstream(golden, std::ios::binary) << encode_png(now);
    }
    const Image before = read_png(golden.string());
    ASSERT_EQ(before.width, now.width) << golden;
    ASSERT_EQ(before.height, now.height) << golden;
    EXPECT_LE(share_of_differences(before, now), kMostDifferences)
        << golden << " and the picture differ";
  }
};

TEST_F(Golden, ATimelineAboveItsPrediction) { compare("timeline", "--run 4"); }

TEST_F(Golden, AStudyZoomedInWithItsOps) {
  compare("study", "--run 5 --range 0.02:0.06 --table ops");
}

TEST_F(Golden, NodesAsBands) {
  {
    db::Connection connection = db::open_writer((folder / "results.db").string());
    add_wide_run(connection, 64);
  }
  compare("nodes", "--rank-order idle");
}

TEST_F(Golden, ADifferentPictureIsTold) {
  const std::string one = (folder / "one.png").string(), two = (folder / "two.png").string();
  ASSERT_EQ(moe_view("--run 4 --size 1200x700 --screenshot '" + one + "'"), 0);
  ASSERT_EQ(moe_view("--run 4 --size 1200x700 --range 0.02:0.06 --screenshot '" + two + "'"), 0);
  EXPECT_GT(share_of_differences(reduced(read_png(one)), reduced(read_png(two))),
            2 * kMostDifferences);
}

}  // namespace
}  // namespace viewer::screenshot_test
