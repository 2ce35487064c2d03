#include "viewer/app/workspace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "db/connection.h"
#include "db/error.h"
#include "db/store.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/headless.h"
#include "tests/viewer/synthetic_database.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer::workspace_test {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;

class WorkspaceTest : public ::testing::Test {
 protected:
  WorkspaceTest()
      : folder(fs::temp_directory_path() / ("moe_view_files_" + std::to_string(getpid()))) {
    fs::create_directories(folder);
    for (const char* name : {"one.db", "two.db"}) {
      db::Connection connection = db::open_writer(path(name));
      ids = fill_synthetic_database(connection);
    }
  }
  ~WorkspaceTest() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  fs::path memory() const { return folder / "state" / "viewer.json"; }
  void frames(Workspace& workspace, int count = 2) {
    for (int i = 0; i < count; ++i) {
      headless.frame([&] { draw_workspace(workspace, headless.fonts); });
    }
  }
  // With Ctrl held.
  void press(Workspace& workspace, int key) {
    ImGui::GetIO().KeyCtrl = true;
    headless.press(key, [&] { draw_workspace(workspace, headless.fonts); });
    ImGui::GetIO().KeyCtrl = false;
  }

  fs::path folder;
  SyntheticIds ids;
  Headless headless;
};

TEST_F(WorkspaceTest, EachFileHasATabAndKeysStepAndClose) {
  Workspace workspace = make_workspace({});
  open_database(workspace, path("one.db"), {});
  frames(workspace);
  EXPECT_THAT(drawn_texts(), Contains("one.db"));
  open_database(workspace, path("two.db"), {});
  frames(workspace);
  EXPECT_EQ(workspace.active, 1U);
  press(workspace, 258);  // Tab
  EXPECT_EQ(workspace.active, 0U);
  open_database(workspace, path("two.db"), {});
  EXPECT_EQ(workspace.open.size(), 2U) << "a file that is open is shown, not opened again";
  EXPECT_EQ(workspace.active, 1U);
  press(workspace, 'W');
  ASSERT_EQ(workspace.open.size(), 1U);
  EXPECT_EQ(shown_app(workspace)->session.connection.path(), path("one.db"));
  press(workspace, 'W');
  EXPECT_EQ(shown_app(workspace), nullptr);
  frames(workspace);
  EXPECT_THAT(drawn_texts(), Contains(HasSubstr("Drop a database")));
}

TEST_F(WorkspaceTest, AFileThatWasReplacedIsReadWhereItIsOpenedAgain) {
  Workspace workspace = make_workspace({});
  open_database(workspace, path("two.db"), {});
  open_database(workspace, path("one.db"), {});
  { const db::Connection connection = db::open_writer(path("new.db")); }
  fs::rename(path("new.db"), path("one.db"));
  ASSERT_FALSE(shown_app(workspace)->session.catalog.runs.empty());
  workspace.active = 0;
  open_picked(workspace, path("one.db"));
  EXPECT_EQ(workspace.problem, "");
  EXPECT_EQ(workspace.open.size(), 2U) << "in the tab that it had";
  EXPECT_EQ(workspace.active, 1U);
  EXPECT_TRUE(shown_app(workspace)->session.catalog.runs.empty());
  frames(workspace);
}

TEST_F(WorkspaceTest, AFileThatIsGoneIsKnownByTheSamePath) {
  const fs::path before = fs::current_path();
  fs::current_path(folder);
  Workspace workspace = make_workspace(memory());
  open_database(workspace, "one.db", {});
  frames(workspace);
  keep_views(workspace);
  fs::remove(path("one.db"));
  keep_views(workspace);
  fs::current_path(before);
  ASSERT_EQ(workspace.last.views.size(), 1U);
  EXPECT_EQ(workspace.last.views.front().path, fs::weakly_canonical(folder / "one.db").string());
}

TEST_F(WorkspaceTest, AFileThatCannotBeOpenedIsSaidAndTheOthersStay) {
  Workspace workspace = make_workspace({});
  open_picked(workspace, path("none.db"));
  EXPECT_THAT(workspace.problem, HasSubstr("none.db"));
  frames(workspace);
  open_picked(workspace, path("one.db"));
  std::ofstream(path("text.db")) << "this is no database at all, whatever its name says";
  open_picked(workspace, path("text.db"));
  ASSERT_EQ(workspace.open.size(), 1U);
  EXPECT_THAT(shown_app(workspace)->session.problem, HasSubstr("text.db"));
  EXPECT_THROW(open_database(workspace, path("none.db"), {}), db::Error);
  frames(workspace);
}

TEST_F(WorkspaceTest, WhatWasShownLastIsShownAgain) {
  {
    Workspace workspace = make_workspace(memory());
    open_database(workspace, path("one.db"), {});
    App& app = *shown_app(workspace);
    select_run(app.session, ids.pipelined_run);
    frames(workspace);
    auto& panel = app.states.of<TimelinePanel>();
    panel.view = {0.01, 0.02};
    panel.figures = Figures::ops;
    panel.ranks.choice.ranks = "0-1";
    workspace.zoom = 1.25F;
    frames(workspace);
    keep_views(workspace);
  }
  Workspace workspace = make_workspace(memory());
  EXPECT_FLOAT_EQ(workspace.zoom, 1.25F);
  open_database(workspace, path("one.db"), {});
  frames(workspace);
  App& app = *shown_app(workspace);
  EXPECT_EQ(app.session.selected_run, ids.pipelined_run);
  auto& panel = app.states.of<TimelinePanel>();
  EXPECT_NEAR(panel.view.begin_s, 0.01, 1e-12);
  EXPECT_NEAR(panel.view.end_s, 0.02, 1e-12);
  EXPECT_EQ(panel.figures, Figures::ops);
  EXPECT_EQ(panel.ranks.choice.ranks, "0-1");

  Workspace asked = make_workspace(memory());
  Opening opening;
  opening.is_asked = true;
  opening.start.run = ids.sequential_run;
  open_database(asked, path("one.db"), opening);
  EXPECT_EQ(shown_app(asked)->session.selected_run, ids.sequential_run) << "asked for is asked for";
}

TEST_F(WorkspaceTest, ResultsThatCameSinceAreShownInsteadOfTheLastView) {
  {
    Workspace workspace = make_workspace(memory());
    open_database(workspace, path("one.db"), {});
    select_run(shown_app(workspace)->session, ids.pipelined_run);
    frames(workspace);
    keep_views(workspace);
  }
  std::int64_t wide = 0;
  {
    db::Connection connection = db::open_writer(path("one.db"));
    wide = add_wide_run(connection, 2);
  }
  Workspace workspace = make_workspace(memory());
  open_database(workspace, path("one.db"), {});
  EXPECT_EQ(shown_app(workspace)->session.selected_run, wide);
}

TEST_F(WorkspaceTest, AMemoryThatCannotBeWrittenIsSaidOnce) {
  std::ofstream(folder / "file") << "no folder";
  Workspace workspace = make_workspace(folder / "file" / "viewer.json");
  open_database(workspace, path("one.db"), {});
  frames(workspace, 1);
  EXPECT_THAT(shown_app(workspace)->session.problem, HasSubstr("is not saved"));
  EXPECT_TRUE(workspace.memory.empty());
}

TEST_F(WorkspaceTest, ADamagedMemoryIsSaidAndNothingElseIsLost) {
  fs::create_directories(memory().parent_path());
  std::ofstream(memory()) << "{{{";
  Workspace workspace = make_workspace(memory());
  open_database(workspace, path("one.db"), {});
  EXPECT_THAT(shown_app(workspace)->session.problem, HasSubstr("is damaged"));
  frames(workspace);
  EXPECT_EQ(read_last_views(memory()).problem, "");
}

}  // namespace
}  // namespace viewer::workspace_test
