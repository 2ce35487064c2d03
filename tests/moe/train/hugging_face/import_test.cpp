#include "moe/train/hugging_face/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <map>

#include "db/console/output_error.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/published/read_config.h"
#include "moe/train/checkpoint/checkpoint_files.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/checkpoint/load.h"
#include "moe/train/hugging_face/counterparts.h"
#include "moe/train/hugging_face/export.h"
#include "moe/train/trainer.h"
#include "tests/db/temporary_directory.h"
#include "tests/moe/train/hugging_face/golden_folders.h"

namespace moe::import_test {
namespace {

using namespace golden_folders;
using ::testing::HasSubstr;

constexpr std::int64_t kSmallFile = 1000;  // bytes: a checkpoint of the golden models is many files

ImportOptions options_for(const std::filesystem::path& from, const std::filesystem::path& to,
                          DType dtype = DType::f32) {
  ImportOptions options{from, base_model(dtype), to};
  options.file_bytes = kSmallFile;
  return options;
}

CheckpointIndex index_of(const std::filesystem::path& run, int iteration = 0) {
  return read_index(checkpoint_folder(run, iteration));
}

/// All tensors of a checkpoint, whether files have them or not.
std::map<std::string, std::vector<std::byte>> tensors_of(const std::filesystem::path& run,
                                                         int iteration = 0) {
  const CheckpointIndex index = index_of(run, iteration);
  CheckpointFiles files(index, checkpoint_folder(run, iteration));
  std::map<std::string, std::vector<std::byte>> tensors;
  for (const NamedTensor& named :
       named_tensors(build_iteration(index.model, make_groups(1, 1), 0))) {
    const auto bytes = files.tensor(named).bytes;
    tensors[named.name].assign(bytes.begin(), bytes.end());
  }
  return tensors;
}

/// The files of a folder but for the record of what was read when, by name.
std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files = db::snapshot(folder);
  files.erase("import.json");
  return files;
}

/// The checkpoint with all its states in a file, as earlier versions wrote it.
void write_all_states(const std::filesystem::path& from, const std::filesystem::path& to) {
  CheckpointIndex index = index_of(from);
  const std::vector<NamedTensor> named =
      named_tensors(build_iteration(index.model, make_groups(1, 1), 0));
  const auto bytes = tensors_of(from);
  std::vector<StoredTensor> stored;
  index.file_of.clear();
  for (const NamedTensor& one : named) {
    stored.push_back({one.name,
                      std::string(stored_type(one.dtype)),
                      {one.rows, one.columns},
                      bytes.at(one.name)});
    index.file_of[one.name] = shard_file(0);
  }
  index.has_initial_states = false;
  const auto partial = partial_folder(to, 0);
  std::filesystem::create_directories(partial);
  index.files = {{shard_file(0), write_safetensors(partial / shard_file(0), stored)}};
  complete(to, index, partial);
}

/// Trains two steps from the last checkpoint, with another one after them.
void train_on(const std::filesystem::path& run, const Model& model, const Layout& layout) {
  const auto file = run / "text";
  std::ofstream(file) << std::string(900, '\1') + std::string(900, '\2');
  const Corpus corpus = open_corpus({file}, {model.vocabulary, model.sequence_length, 0.1});
  const Groups groups = make_groups(layout);
  TrainOptions options;
  options.steps = 2;
  options.evaluate_batches = 0;
  options.run.memory_limit_bytes = 1 << 28;
  options.resume = find_resume_point(run).value();
  options.checkpoint.emplace();
  options.checkpoint->directory = run;
  options.checkpoint->about.model = model;
  options.checkpoint->about.layout = to_text(layout);
  run_local_ranks(groups.ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    train(model, build_iteration(model, groups, world.rank), {}, corpus, groups, *backend, world,
          std::vector<RankInfo>(static_cast<std::size_t>(groups.ranks)), options, {});
  });
}

/// A folder in bf16 as export writes it.
std::filesystem::path folder_in_bf16(const Scratch& scratch, const char* golden) {
  const auto run = scratch.root / "bf16-run", hf = scratch.root / "bf16-hf";
  import_parameters({kGolden / golden, base_model(DType::bf16), run});
  export_checkpoint({run, hf});
  return hf;
}

TEST(Imports, WriteParametersAndNoStates) {
  const Scratch scratch;
  const auto run = scratch.root / "run";
  const ImportReport report = import_parameters(options_for(kGolden / "mixtral", run));
  const CheckpointIndex index = index_of(run);
  EXPECT_TRUE(index.has_initial_states);
  EXPECT_GT(index.files.size(), 3u);
  std::int64_t bytes = 0;
  for (const auto& [file, seal] : index.files) {
    bytes += seal.bytes;
    const SafetensorsFile read(checkpoint_folder(run, 0) / file, seal);
    std::int64_t of_tensors = 0;
    for (const std::string& name : read.names()) of_tensors += std::ssize(read.tensor(name).bytes);
    EXPECT_TRUE(of_tensors <= kSmallFile || read.size() == 1) << file;
  }
  for (const auto& [name, file] : index.file_of)
    EXPECT_THAT(name, ::testing::Not(HasSubstr("_moment")));
  EXPECT_EQ(report.done.bytes_written, bytes);
  EXPECT_EQ(report.done.bytes_read, 4 * report.parameters);
  EXPECT_EQ(report.done.files, std::ssize(index.files));
  for (const auto& [name, all] : tensors_of(run)) {
    if (index.file_of.contains(name)) continue;
    EXPECT_THAT(all, ::testing::Each(std::byte{})) << name;
  }
}

TEST(Imports, WriteNoMastersOfParametersThatAreNotRounded) {
  const Scratch scratch;
  const auto masters = [&](const std::filesystem::path& from, const char* run) {
    import_parameters(options_for(from, scratch.root / run, DType::bf16));
    std::vector<std::string> names;
    for (const auto& [name, file] : index_of(scratch.root / run).file_of) {
      if (name.ends_with(kMaster)) names.push_back(name);
    }
    return names;
  };
  EXPECT_THAT(masters(kGolden / "mixtral", "f32"), ::testing::Not(::testing::IsEmpty()));
  const auto hf = folder_in_bf16(scratch, "mixtral");
  EXPECT_THAT(masters(hf, "bf16"), ::testing::IsEmpty());
  // They are what their parameters are.
  const auto all = tensors_of(scratch.root / "bf16");
  std::size_t compared = 0;
  for (const auto& [name, bytes] : all) {
    if (!name.ends_with(kMaster)) continue;
    const auto& value = all.at(name.substr(0, name.size() - kMaster.size()));
    ASSERT_EQ(bytes.size(), 2 * value.size());
    for (std::size_t i = 0; i < value.size(); ++i) {
      ASSERT_EQ(bytes[i / 2 * 4 + 2 + i % 2], value[i]) << name;
      ASSERT_EQ(bytes[i / 2 * 4 + i % 2], std::byte{}) << name;
    }
    ++compared;
  }
  EXPECT_GT(compared, 5u);
}

TEST(Imports, AreTrainedAsCheckpointsThatHaveAllStates) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Layout& layout :
         {Layout{1, 1, 1}, Layout{2, 1, 1}, Layout{1, 1, 2}, Layout{1, 1, 1, 1, 2}}) {
      const Scratch scratch;
      const auto run = scratch.root / "run", all = scratch.root / "all";
      const auto from =
          dtype == DType::bf16 ? folder_in_bf16(scratch, "mixtral") : kGolden / "mixtral";
      const ImportReport report = import_parameters(options_for(from, run, dtype));
      write_all_states(run, all);
      EXPECT_EQ(tensors_of(run), tensors_of(all));
      train_on(run, report.model, layout);
      train_on(all, report.model, layout);
      EXPECT_FALSE(index_of(run, 2).has_initial_states);
      EXPECT_EQ(tensors_of(run, 2), tensors_of(all, 2)) << name_of(dtype) << " " << to_text(layout);
    }
  }
}

TEST(Imports, AreTrainedWithAnyOptimizer) {
  const Scratch scratch;
  const auto run = scratch.root / "run";
  Model model = import_parameters(options_for(kGolden / "mixtral", run)).model;
  ASSERT_EQ(model.optimizer, Optimizer::adam);
  model.optimizer = Optimizer::sgd;
  train_on(run, model, {});
  std::size_t momenta = 0;
  for (const auto& [name, file] : index_of(run, 2).file_of) {
    EXPECT_THAT(name, ::testing::Not(HasSubstr("second_moment")));
    momenta += name.ends_with(".momentum") ? 1 : 0;
  }
  EXPECT_GT(momenta, 10u);
}

TEST(Imports, OfWhichATensorIsMissingThatIsNoStateAreRefused) {
  const Scratch scratch;
  const auto run = scratch.root / "run";
  import_parameters(options_for(kGolden / "mixtral", run));
  CheckpointIndex index = index_of(run);
  const auto named = named_tensors(build_iteration(index.model, make_groups(1, 1), 0));
  const auto refused = [&](const NamedTensor& one) {
    CheckpointFiles files(index, checkpoint_folder(run, 0));
    return refusal([&] { files.tensor(one); });
  };
  index.file_of.erase("final_norm.scale");
  for (const NamedTensor& one : named) {
    const bool is_missing = one.name == "final_norm.scale";
    EXPECT_THAT(refused(one), HasSubstr(is_missing ? "is missing" : "nothing is refused"));
  }
  index.has_initial_states = false;
  for (const NamedTensor& one : named) {
    if (one.state_of.empty()) continue;
    EXPECT_THAT(refused(one), HasSubstr("is missing")) << one.name;
  }
}

/// Runs `work` in another process, and returns the signal that ended it; 0 where it ended by itself.
int signal_that_ends(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      work();
    } catch (const std::exception&) {
      std::_Exit(1);
    }
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) != 0) << "it threw";
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(Imports, ThatAreKilledGoOnWhereTheyWere) {
  const Scratch scratch;
  const auto undisturbed = scratch.root / "undisturbed", run = scratch.root / "run";
  const ImportReport whole = import_parameters(options_for(kGolden / "mixtral", undisturbed));
  ASSERT_GT(whole.done.files, 6);
  // Between two files, and within every third one.
  int killed = 0;
  for (int files = 1; files < whole.done.files; ++files) {
    const int signal = signal_that_ends([&] {
      ImportOptions options = options_for(kGolden / "mixtral", run);
      options.progress = [&](const ImportProgress& now) {
        if (now.files == files && files % 3 != 0) raise(SIGKILL);
        if (now.files != files) return;
        std::signal(SIGXFSZ, SIG_DFL);
        const rlimit limit{700, 700};  // bytes of a file, of which its header has some
        setrlimit(RLIMIT_FSIZE, &limit);
      };
      import_parameters(options);
    });
    EXPECT_EQ(signal, files % 3 != 0 ? SIGKILL : SIGXFSZ) << files;
    ++killed;
    EXPECT_TRUE(checkpoints_in(run).empty()) << "nothing half written is a checkpoint";
    EXPECT_FALSE(std::filesystem::exists(run / "model.toml"));
    EXPECT_TRUE(std::filesystem::exists(import_folder(run)));
  }
  EXPECT_GT(killed, 5);
  ImportProgress first;
  ImportOptions options = options_for(kGolden / "mixtral", run);
  options.progress = [&](const ImportProgress& now) {
    if (first.of_files == 0) first = now;
  };
  const ImportReport report = import_parameters(options);
  EXPECT_EQ(first.files, whole.done.files - 1);
  EXPECT_EQ(first.bytes_written, 0);
  EXPECT_GT(report.done.bytes_written, 0);
  EXPECT_LT(report.done.bytes_written, whole.done.bytes_written / 3);
  EXPECT_EQ(report.done.bytes_complete, whole.done.bytes_written);
  EXPECT_EQ(files_of(checkpoint_folder(run, 0)), files_of(checkpoint_folder(undisturbed, 0)));
  EXPECT_FALSE(std::filesystem::exists(import_folder(run)));
  EXPECT_EQ(read_file(run / "model.toml"), read_file(undisturbed / "model.toml"));
}

/// As an import leaves them that is killed when all tensors are written.
TEST(Imports, ThatAreKilledBeforeTheirFolderHasItsNameGoOn) {
  const Scratch scratch;
  const auto run = scratch.root / "run";
  const auto options = options_for(kGolden / "mixtral", run);
  import_parameters(options);
  const auto before = files_of(checkpoint_folder(run, 0));
  std::filesystem::rename(checkpoint_folder(run, 0), import_folder(run));
  const ImportReport report = import_parameters(options);
  EXPECT_EQ(report.done.bytes_written, 0);
  EXPECT_EQ(files_of(checkpoint_folder(run, 0)), before);
}

/// Leaves an import that was ended after its second file.
void end_early(ImportOptions options) {
  options.progress = [](const ImportProgress& now) {
    if (now.files == 2) throw std::runtime_error("ended");
  };
  EXPECT_THROW(import_parameters(options), std::runtime_error);
  ASSERT_TRUE(std::filesystem::exists(import_folder(options.checkpoint)));
}

TEST(Imports, GoOnWithTheSameAlone) {
  const Scratch scratch;
  const auto from = scratch.root / "from", run = scratch.root / "run";
  std::filesystem::copy(kGolden / "mixtral", from);
  const ImportOptions options = options_for(from, run);
  end_early(options);
  const auto refused = [&](const ImportOptions& other) {
    return refusal([&] { import_parameters(other); });
  };
  ImportOptions other = options;
  other.base.sequence_length = 16;
  EXPECT_THAT(refused(other), HasSubstr("sequence_length was 8, and is 16: remove " +
                                        import_folder(run).string() + " to begin anew"));
  other = options_for(from, run, DType::bf16);
  EXPECT_THAT(refused(other), HasSubstr("precision was "));
  const auto file = from / kTensorsFile;
  const auto time = std::filesystem::last_write_time(file);
  std::filesystem::last_write_time(file, time + std::chrono::seconds(1));
  EXPECT_THAT(refused(options), HasSubstr("model.safetensors was written again since"));
  {
    const SafetensorsFile read(file);
    std::vector<StoredTensor> tensors;
    for (const std::string& name : read.names()) tensors.push_back(read.tensor(name));
    write_safetensors(scratch.root / "written again", tensors);
  }
  std::filesystem::rename(scratch.root / "written again", file);
  std::filesystem::last_write_time(file, time);
  EXPECT_THAT(refused(options), HasSubstr("model.safetensors had "));
  std::filesystem::copy(kGolden / "mixtral" / kTensorsFile, file,
                        std::filesystem::copy_options::overwrite_existing);
  std::filesystem::last_write_time(file, time);
  EXPECT_EQ(refused(options), "nothing is refused");
}

TEST(Imports, WriteAFileAgainThatSomebodyHasChanged) {
  const Scratch scratch;
  const auto run = scratch.root / "run", undisturbed = scratch.root / "undisturbed";
  const ImportOptions options = options_for(kGolden / "mixtral", run);
  end_early(options);
  std::ofstream(import_folder(run) / "part-00001.safetensors") << "other";
  import_parameters(options);
  import_parameters(options_for(kGolden / "mixtral", undisturbed));
  EXPECT_EQ(files_of(checkpoint_folder(run, 0)), files_of(checkpoint_folder(undisturbed, 0)));
}

TEST(Imports, LeaveAFolderThatNoneOfThemMadeAlone) {
  const Scratch scratch;
  const auto run = scratch.root / "run";
  std::filesystem::create_directories(import_folder(run));
  std::ofstream(import_folder(run) / "thesis") << "precious";
  EXPECT_THAT(refusal([&] { import_parameters(options_for(kGolden / "mixtral", run)); }),
              HasSubstr("import.partial: is there, and no import made it"));
  EXPECT_EQ(read_file(import_folder(run) / "thesis"), "precious");
}

TEST(Imports, WhoseRecordIsDamagedAreRefused) {
  const Scratch scratch;
  const auto run = scratch.root / "run";
  end_early(options_for(kGolden / "mixtral", run));
  std::ofstream(import_folder(run) / "import.json") << "{";
  EXPECT_THAT(refusal([&] { import_parameters(options_for(kGolden / "mixtral", run)); }),
              ::testing::AllOf(HasSubstr("import.json:1: not JSON"), HasSubstr("to begin anew")));
}

TEST(Imports, ThatAreNotCompleteAreNotTrained) {
  const Scratch scratch;
  const auto run = scratch.root / "run";
  end_early(options_for(kGolden / "mixtral", run));
  EXPECT_FALSE(find_resume_point(run));
  run_local_ranks(1, [&](Communicator& world) {
    CheckpointOptions options;
    options.directory = run;
    EXPECT_THAT(refusal([&] { Checkpoints(options, make_groups(1, 1), world, 10, {}); }),
                HasSubstr("import.partial: an import was ended before it was complete"));
  });
}

TEST(Imports, OnADiskThatIsFullGoOnWhenItIsNot) {
  const db::SmallDisk disk(400);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const std::filesystem::path run = disk.file("run"), other = disk.file("other");
  ImportOptions options = options_for(kGolden / "mixtral", run);
  options.progress = [&](const ImportProgress& now) {
    // What was free when the import began is another's now.
    if (now.files == 3 && now.bytes_written > 0) {
      std::ofstream(other, std::ios::binary) << std::string(1 << 20, 'x');
    }
  };
  EXPECT_THAT(refusal([&] { import_parameters(options); }), HasSubstr("No space left on device"));
  EXPECT_TRUE(checkpoints_in(run).empty());
  std::filesystem::resize_file(other, std::filesystem::file_size(other) - 12'000);
  EXPECT_THAT(refusal([&] { import_parameters(options); }), HasSubstr("are free on its disk"))
      << "nothing is begun that cannot end";
  std::filesystem::remove(other);
  ImportProgress first;
  options.progress = [&](const ImportProgress& now) {
    if (first.of_files == 0) first = now;
  };
  import_parameters(options);
  EXPECT_GE(first.files, 2);
  EXPECT_EQ(checkpoints_in(run), std::vector<int>{0});
}

TEST(Imports, ForWhichADiskHasNoRoomAreRefusedBeforeTheyWrite) {
  const db::SmallDisk disk(16);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const std::filesystem::path run = disk.file("run");
  const auto imports = [&] { import_parameters(options_for(kGolden / "qwen2_moe", run)); };
  EXPECT_THROW(imports(), db::OutputError);
  EXPECT_THAT(refusal(imports), ::testing::ContainsRegex("run: [0-9.]+ KiB are needed, [0-9.]+ "
                                                         "(KiB|B) are free on its disk"));
  EXPECT_FALSE(std::filesystem::exists(import_folder(run)));
}

}  // namespace
}  // namespace moe::import_test
