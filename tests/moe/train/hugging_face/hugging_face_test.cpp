#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <list>
#include <nlohmann/json.hpp>

#include "moe/errors.h"
#include "moe/input/read_file.h"
#include "moe/model/iteration.h"
#include "moe/model/model_json.h"
#include "moe/model/published/read_config.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/hugging_face/counterparts.h"
#include "moe/train/hugging_face/elements.h"
#include "moe/train/hugging_face/export.h"
#include "moe/train/hugging_face/import.h"
#include "moe/train/trainer.h"
#include "tests/moe/train/checkpoint/resealed.h"
#include "tests/moe/train/hugging_face/golden_folders.h"

namespace moe::hugging_face_test {
namespace {

using namespace golden_folders;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// The loss of the golden text, of which nothing else is held out.
double loss_of(const std::filesystem::path& checkpoints, const Model& model,
               const std::vector<int>& text, const Layout& layout) {
  const auto file = checkpoints / "text.bin";
  {
    std::vector<std::uint16_t> tokens(9 * text.size());
    tokens.insert(tokens.end(), text.begin(), text.end());
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(tokens.data()),
               static_cast<std::streamsize>(2 * tokens.size()));
  }
  const Corpus corpus = open_corpus({file}, {model.vocabulary, model.sequence_length, 0.1});
  const Groups groups = make_groups(layout);
  TrainOptions options;
  options.only_evaluates = true;
  options.evaluate_batches = 1;
  options.run.memory_limit_bytes = 1 << 28;
  options.resume = find_resume_point(checkpoints).value();
  compare_models(*options.resume, model, true);
  EXPECT_TRUE(options.resume->remarks.empty());
  double loss = 0;
  run_local_ranks(groups.ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    TrainObserver observer;
    observer.evaluated = [&](int iteration, double heldout_loss) {
      EXPECT_EQ(iteration, 0);
      loss = heldout_loss;
    };
    train(model, build_iteration(model, groups, world.rank), {}, corpus, groups, *backend, world,
          std::vector<RankInfo>(static_cast<std::size_t>(groups.ranks)), options, observer);
  });
  return loss;
}

/// Of all tensors of a folder.
std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    for (const std::string& name : SafetensorsFile(entry.path()).names()) names.push_back(name);
  }
  return names;
}

class HuggingFace : public ::testing::TestWithParam<std::string_view> {
 protected:
  std::filesystem::path golden = kGolden / GetParam();
  nlohmann::json expected = json_of(golden / "expected.json");
  Scratch scratch;
};

TEST_P(HuggingFace, ImportedModelsHaveTheLossesOfTransformersOnAnyLayout) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const auto folder = scratch.root / std::string(name_of(dtype));
    const ImportReport report = import_parameters({golden, base_model(dtype), folder});
    EXPECT_EQ(report.of->name, GetParam());
    const double tolerance = dtype == DType::bf16 ? 0.05 : 2e-6;
    // A tied head is in one stage with the table of tokens.
    const int stages = report.model.head == Head::tied ? 1 : 2;
    for (const Layout& layout : {Layout{1, 1, 1}, Layout{1, 1, 2}, Layout{2, 1, 1, 1, stages}}) {
      EXPECT_NEAR(loss_of(folder, report.model, expected["tokens"], layout), expected["loss"],
                  tolerance)
          << name_of(dtype) << " " << to_text(layout);
    }
  }
}

TEST_P(HuggingFace, ExportedModelsAreThoseThatWereImported) {
  const ImportReport report = import_parameters({golden, base_model(), scratch.root / "run"});
  const ExportReport written = export_checkpoint({scratch.root / "run", scratch.root / "hf"});
  EXPECT_EQ(written.of->name, GetParam());
  const SafetensorsFile back(scratch.root / "hf" / kTensorsFile);
  EXPECT_THAT(back.names(), SizeIs(written.tensors));
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden)) {
    if (entry.path().extension() != ".safetensors") continue;
    const SafetensorsFile original(entry.path());
    for (const std::string& name : original.names()) {
      const StoredTensor &a = original.tensor(name), &b = back.tensor(name);
      EXPECT_EQ(a.shape, b.shape) << name;
      EXPECT_EQ(elements_of(a, golden), elements_of(b, golden)) << name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, written.tensors);
  const ConfiguredModel again = read_config(scratch.root / "hf", base_model());
  EXPECT_EQ(again.of, report.of);
  Model named = again.model;
  named.name = report.model.name;
  EXPECT_TRUE(differing_keys(named, report.model).empty());
}

/// Trains two steps from the last checkpoint, with another one after them.
void train_on(const std::filesystem::path& checkpoints, const Model& model) {
  const auto file = checkpoints / "text";
  std::ofstream(file) << std::string(900, '\1') + std::string(900, '\2');
  const Corpus corpus = open_corpus({file}, {model.vocabulary, model.sequence_length, 0.1});
  TrainOptions options;
  options.steps = 2;
  options.evaluate_batches = 0;
  options.run.memory_limit_bytes = 1 << 28;
  options.resume = find_resume_point(checkpoints).value();
  options.checkpoint.emplace();
  options.checkpoint->directory = checkpoints;
  options.checkpoint->about.model = model;
  options.checkpoint->about.layout = to_text(Layout{});
  run_local_ranks(1, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    const Groups groups = make_groups(1, 1);
    train(model, build_iteration(model, groups, 0), {}, corpus, groups, *backend, world,
          std::vector<RankInfo>(1), options, {});
  });
}

TEST_P(HuggingFace, ImportedModelsStayInTheirClassWhenTheyAreTrained) {
  const auto run = scratch.root / "run", hf = scratch.root / "hf";
  const ImportReport report = import_parameters({golden, base_model(), run});
  train_on(run, report.model);
  EXPECT_EQ(export_checkpoint({run, hf}).of->name, GetParam());
  nlohmann::json before = json_of(golden / kConfigFile), after = json_of(hf / kConfigFile);
  for (const char* key : {"qkv_bias", "attention_bias"}) {
    if (!before.contains(key)) continue;
    EXPECT_EQ(after[key], before[key]) << key;
  }
  EXPECT_THAT(SafetensorsFile(hf / kTensorsFile).names(),
              ::testing::UnorderedElementsAreArray(names_in(golden)));
  // What was trained is what goes back in.
  const ImportReport again = import_parameters({hf, base_model(), scratch.root / "again"});
  EXPECT_EQ(again.parameters, report.parameters);
}

constexpr std::array<std::string_view, 17> kGoldenClasses{
    "mixtral",    "qwen2_moe",  "glm4_moe",   "qwen3_moe",    "gpt_oss",       "olmoe",
    "dots1",      "minimax_m2", "granitemoe", "ernie4_5_moe", "deepseek_v2",   "deepseek_v3",
    "exaone_moe", "flint",      "mellum",     "flex_olmo",    "hunyuan_v1_moe"};
INSTANTIATE_TEST_SUITE_P(Classes, HuggingFace, ::testing::ValuesIn(kGoldenClasses),
                         [](const auto& info) { return std::string(info.param); });

TEST(HuggingFaceFolders, AreRefusedWithFileAndTensor) {
  const Scratch scratch;
  const auto from = scratch.root / "from", to = scratch.root / "to", run = scratch.root / "run";
  std::filesystem::copy(kGolden / "mixtral", from);
  const auto imports = [&] { import_parameters({from, base_model(), run}); };
  nlohmann::json config = json_of(from / kConfigFile);
  const auto write_with = [&](const char* key, int value) {
    nlohmann::json other = config;
    other[key] = value;
    std::ofstream(from / kConfigFile) << other.dump(2);
  };
  write_with("intermediate_size", 5);
  EXPECT_THAT(refusal(imports), HasSubstr("w1.weight: is [6, 8]: expected [5, 8]"));
  write_with("num_local_experts", 2);
  EXPECT_THAT(refusal(imports), HasSubstr("block_sparse_moe"));
  write_with("num_hidden_layers", 3);
  EXPECT_THAT(refusal(imports), HasSubstr("tensor model.layers.2."));
  write_with("num_hidden_layers", 1);
  EXPECT_THAT(refusal(imports),
              HasSubstr("has no counterpart in the model that config.json describes"));
  EXPECT_TRUE(checkpoints_in(run).empty()) << "nothing is half written";
  const auto packed = scratch.root / "packed";
  write_with("num_local_experts", 1 << 20);
  EXPECT_THAT(refusal(imports),
              HasSubstr("block_sparse_moe.gate.weight: is [3, 8]: expected [1048576, 8]"));
  std::filesystem::copy(kGolden / "gpt_oss", packed, std::filesystem::copy_options::recursive);
  nlohmann::json of_packed = json_of(packed / kConfigFile);
  of_packed["num_local_experts"] = 1 << 20;
  std::ofstream(packed / kConfigFile) << of_packed;
  EXPECT_THAT(refusal([&] {
                import_parameters({packed, base_model(), run});
              }),
              HasSubstr("mlp.router.weight: is [3, 8]: expected [1048576, 8]"));
  EXPECT_FALSE(std::filesystem::exists(run / "model.toml"));
  write_with("num_hidden_layers", 2);
  std::filesystem::create_directories(run);
  std::ofstream(run / "model.toml") << "# mine\n";
  EXPECT_THAT(refusal(imports), HasSubstr("model.toml: exists already, and is another model"));
  std::filesystem::remove(run / "model.toml");
  imports();
  EXPECT_THAT(refusal(imports), HasSubstr("has checkpoints up to iteration 0"));
  export_checkpoint({run, to / ""});
  EXPECT_TRUE(std::filesystem::exists(to / kConfigFile));
  EXPECT_THAT(refusal([&] { export_checkpoint({run, to}); }), HasSubstr("exists already"));
  EXPECT_THAT(refusal([&] {
                export_checkpoint({run, to / kConfigFile / "new"});
              }),
              HasSubstr("cannot be written: Not a directory"));
  EXPECT_THAT(refusal([&] {
                export_checkpoint({from, scratch.root / "new"});
              }),
              HasSubstr("has no checkpoint"));
}

/// The file with `with` over the first bytes of its last tensor.
void overwrite_last(const std::filesystem::path& file, const StoredTensor& last, float with) {
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(-static_cast<std::streamoff>(last.bytes.size()), std::ios::end);
  out.write(reinterpret_cast<const char*>(&with), sizeof with);
}

TEST(HuggingFaceFolders, LeaveWhatIsSomebodysBesideThemAlone) {
  const Scratch scratch;
  const std::filesystem::path from = kGolden / "mixtral", run = scratch.root / "run",
                              to = scratch.root / "hf";
  const auto precious = [&](const std::filesystem::path& file) {
    std::ofstream(file) << "precious";
    return file;
  };
  std::filesystem::create_directories(run);
  std::filesystem::create_directories(scratch.root / "hf.partial");
  const std::filesystem::path file = precious(scratch.root / "hf.partial" / "thesis");
  const std::filesystem::path linked = precious(scratch.root / "linked");
  std::filesystem::create_symlink(linked, run / "model.toml.partial");
  import_parameters({from, base_model(), run});
  export_checkpoint({run, to});
  for (const std::filesystem::path& one : {file, linked}) {
    EXPECT_EQ(read_file(one), "precious") << one;
  }
  EXPECT_TRUE(std::filesystem::is_symlink(run / "model.toml.partial"));
  for (const std::filesystem::path& folder : {scratch.root, run}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".moelab")) << entry.path();
    }
  }
}

TEST(HuggingFaceFolders, ThatHaveNoNameOfTheirOwnAreRefused) {
  const Scratch scratch;
  const std::filesystem::path run = scratch.root / "run";
  import_parameters({kGolden / "mixtral", base_model(), run});
  std::filesystem::create_directories(scratch.root / "empty");
  std::filesystem::create_directory_symlink(scratch.root / "empty", scratch.root / "link");
  for (const char* name : {".", "..", "empty/.", "link"}) {
    EXPECT_THROW(export_checkpoint({run, scratch.root / name}), InputError) << name;
  }
  export_checkpoint({run, scratch.root / "empty"});
  EXPECT_TRUE(std::filesystem::exists(scratch.root / "empty" / kConfigFile));
}

TEST(HuggingFaceFolders, WithNumbersThatTheModelDoesNotHoldAreRefused) {
  const Scratch scratch;
  const auto from = scratch.root / "from", file = from / kTensorsFile;
  std::filesystem::copy(kGolden / "mixtral", from);
  std::string last;
  {
    const SafetensorsFile read(file);
    const auto end_of = [&](const std::string& name) {
      const auto& bytes = read.tensor(name).bytes;
      return bytes.data() + bytes.size();
    };
    for (const std::string& name : read.names()) {
      if (last.empty() || end_of(name) > end_of(last)) last = name;
    }
  }
  const auto refused = [&](float value, DType dtype) {
    overwrite_last(file, SafetensorsFile(file).tensor(last), value);
    return refusal([&] { import_parameters({from, base_model(dtype), scratch.root / "run"}); });
  };
  const auto at = file.string() + ": tensor " + last + ": value 0 is ";
  EXPECT_THAT(refused(std::numeric_limits<float>::quiet_NaN(), DType::f64), HasSubstr(at + "nan"));
  EXPECT_THAT(refused(std::numeric_limits<float>::infinity(), DType::f32),
              HasSubstr(at + "inf: expected numbers up to 3.403e+38"));
  EXPECT_THAT(refused(std::numeric_limits<float>::max(), DType::bf16),
              HasSubstr("expected numbers up to 3.39e+38"));
  EXPECT_EQ(refused(std::numeric_limits<float>::max(), DType::f32), "nothing is refused");
}

TEST(HuggingFaceFolders, WhoseIndexSaysWhatIsNotThereAreRefused) {
  const Scratch scratch;
  const auto from = scratch.root / "from", index = from / "model.safetensors.index.json";
  std::filesystem::copy(kGolden / "qwen2_moe", from);
  const nlohmann::json told = json_of(index);
  const auto refused = [&](const std::string& tensor, const std::string& file) {
    nlohmann::json other = told;
    other["weight_map"][tensor] = file;
    std::ofstream(index) << other.dump(2);
    return refusal([&] { import_parameters({from, base_model(), scratch.root / "run"}); });
  };
  const std::string first = "model-00001-of-00002.safetensors";
  EXPECT_THAT(refused("head", first), HasSubstr("index.json: tensor head: is not in " + first));
  for (const std::string& name : {"../" + first, (kGolden / first).string(), std::string("..")}) {
    EXPECT_THAT(refused("head", name), HasSubstr("the name of a file in the same folder")) << name;
  }
}

TEST(HuggingFaceFolders, AreNotMadeOfTensorsThatAreNotTheModels) {
  const Scratch scratch;
  import_parameters({kGolden / "mixtral", base_model(), scratch.root / "run"});
  const auto index = checkpoint_folder(scratch.root / "run", 0) / kIndexFile;
  const std::string written = read_file(index);
  const auto exported = [&](const char* key, int value) {
    std::ofstream(index) << resealed(written,
                                     [&](auto& content) { content["model"][key] = value; });
    return refusal([&] { export_checkpoint({scratch.root / "run", scratch.root / "hf"}); });
  };
  for (const auto& [key, value] : {std::pair{"d_expert", 12}, {"vocabulary", 60000}}) {
    EXPECT_THAT(exported(key, value), HasSubstr("]: expected [")) << key;
    EXPECT_FALSE(std::filesystem::exists(scratch.root / "hf"));
  }
}

TEST(HuggingFaceFolders, TakeATensorFromTheFileThatTheIndexNames) {
  const Scratch scratch;
  const auto from = scratch.root / "from", index = from / "model.safetensors.index.json";
  std::filesystem::copy(kGolden / "qwen2_moe", from);
  nlohmann::json told = json_of(index);
  const std::string tensor = "model.embed_tokens.weight", named = told["weight_map"][tensor];
  for (const auto& entry : std::filesystem::directory_iterator(kGolden / "qwen2_moe")) {
    const std::string other = entry.path().filename();
    if (entry.path().extension() != ".safetensors" || other == named) continue;
    // An old copy of the tensor, and one that the index does not know.
    std::vector<StoredTensor> tensors;
    const SafetensorsFile read(entry.path()), right(from / named);
    for (const std::string& name : read.names()) tensors.push_back(read.tensor(name));
    std::vector<std::byte> zeros(right.tensor(tensor).bytes.size());
    for (const char* name : {tensor.c_str(), "nobody's"}) {
      tensors.push_back({name, right.tensor(tensor).dtype, right.tensor(tensor).shape, zeros});
    }
    std::filesystem::remove(from / other);
    write_safetensors(from / other, tensors);
  }
  const ImportReport report = import_parameters({from, base_model(), scratch.root / "run"});
  EXPECT_THAT(report.remarks, ::testing::Contains(HasSubstr(
                                  "tensors are not read, first model.embed_tokens.weight: "
                                  "model.safetensors.index.json does not name this "
                                  "file")));
  import_parameters({kGolden / "qwen2_moe", base_model(), scratch.root / "golden"});
  export_checkpoint({scratch.root / "run", scratch.root / "hf"});
  export_checkpoint({scratch.root / "golden", scratch.root / "golden-hf"});
  EXPECT_EQ(read_file(scratch.root / "hf" / kTensorsFile),
            read_file(scratch.root / "golden-hf" / kTensorsFile));
}

TEST(HuggingFaceFolders, OfOneFileAndOfOthersWithAnIndexAreRefused) {
  const Scratch scratch;
  const auto from = scratch.root / "from";
  std::filesystem::copy(kGolden / "qwen2_moe", from);
  std::filesystem::copy(kGolden / "mixtral" / kTensorsFile, from / kTensorsFile);
  EXPECT_THAT(refusal([&] {
                import_parameters({from, base_model(), scratch.root / "run"});
              }),
              HasSubstr("has model.safetensors, which transformers reads, and "
                        "model.safetensors.index.json, which names other files"));
}

/// A golden folder with a tensor more.
class WithATensorMore {
 public:
  WithATensorMore(const char* golden, const std::filesystem::path& to) : to_(to) {
    std::filesystem::create_directories(to);
    std::filesystem::copy(kGolden / golden / kConfigFile, to / kConfigFile);
    for (const auto& entry : std::filesystem::directory_iterator(kGolden / golden)) {
      if (entry.path().extension() == ".safetensors") files_.emplace_back(entry.path());
    }
  }
  void write(const StoredTensor& more) {
    std::vector<StoredTensor> all{more};
    for (const SafetensorsFile& file : files_) {
      for (const std::string& name : file.names()) all.push_back(file.tensor(name));
    }
    std::filesystem::remove(to_ / kTensorsFile);
    write_safetensors(to_ / kTensorsFile, all);
  }
  const StoredTensor& tensor(const std::string& name) const {
    for (const SafetensorsFile& file : files_) {
      if (file.has(name)) return file.tensor(name);
    }
    throw std::runtime_error(name);
  }

 private:
  std::filesystem::path to_;
  std::list<SafetensorsFile> files_;
};

TEST(HuggingFaceFolders, WithAHeadThatIsNotTheTokenTableItShouldBeAreRefused) {
  const Scratch scratch;
  const auto from = scratch.root / "from";
  WithATensorMore folder("qwen2_moe", from);
  StoredTensor head = folder.tensor("model.embed_tokens.weight");
  std::vector<std::byte> bytes(head.bytes.begin(), head.bytes.end());
  head.name = "lm_head.weight";
  head.bytes = bytes;
  folder.write(head);
  EXPECT_EQ(refusal([&] {
              import_parameters({from, base_model(), scratch.root / "run"});
            }),
            "nothing is refused");
  const float other = 2;
  std::memcpy(bytes.data() + 5 * sizeof other, &other, sizeof other);
  folder.write(head);
  EXPECT_THAT(refusal([&] {
                import_parameters({from, base_model(), scratch.root / "other"});
              }),
              ::testing::AllOf(HasSubstr("tensor lm_head.weight: has 2 at 5, where "),
                               HasSubstr("with tie_word_embeddings = true expected the same")));
  head.shape = {head.shape[1], head.shape[0]};
  folder.write(head);
  EXPECT_THAT(refusal([&] {
                import_parameters({from, base_model(), scratch.root / "other"});
              }),
              HasSubstr("tensor lm_head.weight: has "));
}

TEST(HuggingFaceFolders, WithFrequenciesOfAnotherBaseAreRefused) {
  const Scratch scratch;
  const auto from = scratch.root / "from";
  WithATensorMore folder("mixtral", from);  // heads of 4 columns, a base of 1000
  std::vector<float> frequencies{1, 0.0316F};
  folder.write({"model.layers.0.self_attn.rotary_emb.inv_freq",
                "F32",
                {2},
                std::as_bytes(std::span(frequencies))});
  EXPECT_EQ(refusal([&] {
              import_parameters({from, base_model(), scratch.root / "run"});
            }),
            "nothing is refused");
  frequencies[1] = 0.01F;
  folder.write({"model.layers.0.self_attn.rotary_emb.inv_freq",
                "F32",
                {2},
                std::as_bytes(std::span(frequencies))});
  EXPECT_THAT(refusal([&] {
                import_parameters({from, base_model(), scratch.root / "other"});
              }),
              HasSubstr("inv_freq: has 0.01 at 1: expected 0.0316228, as follows from rope_theta = "
                        "1000"));
}

TEST(HuggingFaceFolders, WithAnotherNumberOfFrequenciesThanPairsThatTurnAreRefused) {
  const Scratch scratch;
  WithATensorMore folder("mixtral", scratch.root / "from");
  const std::vector<float> one{1};
  folder.write(
      {"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {1}, std::as_bytes(std::span(one))});
  EXPECT_THAT(refusal([&] {
                import_parameters({scratch.root / "from", base_model(), scratch.root / "run"});
              }),
              HasSubstr("inv_freq: has 1 values: expected 2, one for each pair of columns"));
  EXPECT_FALSE(std::filesystem::exists(scratch.root / "run")) << "nothing is left";
}

TEST(HuggingFaceFolders, LeaveLayersAsideThatPredictFurtherTokensIfTheFileSaysSo) {
  const Scratch scratch;
  const auto from = scratch.root / "from";
  WithATensorMore folder("glm4_moe", from);
  nlohmann::json config = json_of(from / kConfigFile);
  const int layers = config["num_hidden_layers"];
  const std::vector<float> numbers{1, 2};
  const auto refusal_with = [&](const std::string& tensor, int further) {
    folder.write({tensor, "F32", {2}, std::as_bytes(std::span(numbers))});
    config["num_nextn_predict_layers"] = further;
    std::ofstream(from / kConfigFile) << config;
    std::filesystem::remove_all(scratch.root / "run");
    return refusal([&] {
      const auto remarks = import_parameters({from, base_model(), scratch.root / "run"}).remarks;
      EXPECT_THAT(remarks, ::testing::Contains(HasSubstr("1 tensors are left aside, first " +
                                                         tensor + ": they are of layers")));
    });
  };
  const std::string after = "model.layers." + std::to_string(layers) + ".eh_proj.weight",
                    later = "model.layers." + std::to_string(layers + 1) + ".eh_proj.weight";
  EXPECT_EQ(refusal_with(after, 1), "nothing is refused");
  EXPECT_EQ(refusal_with("mtp.norm.weight", 1), "nothing is refused");
  EXPECT_THAT(refusal_with(after, 0), HasSubstr(after + ": has no counterpart in the model"));
  EXPECT_THAT(refusal_with(later, 1), HasSubstr(later + ": has no counterpart in the model"));
}

TEST(HuggingFaceFolders, OfTypesOrFilesThatNothingReadsAreRefusedByName) {
  const Scratch scratch;
  const auto from = scratch.root / "from", run = scratch.root / "run";
  WithATensorMore folder("mixtral", from);
  const auto imports = [&] { import_parameters({from, base_model(), run}); };
  const std::vector<std::int32_t> whole{1, 2};
  folder.write({"model.layers.0.quantized", "I32", {2}, std::as_bytes(std::span(whole))});
  EXPECT_THAT(refusal(imports), HasSubstr("model.layers.0.quantized: has no counterpart"));
  std::string bytes = read_file(from / kTensorsFile);
  bytes.replace(bytes.find("\"I32\""), 5, "\"I99\"");
  std::ofstream(from / kTensorsFile, std::ios::binary) << bytes;
  EXPECT_THAT(refusal(imports), HasSubstr("tensor model.layers.0.quantized: elements of type I99: "
                                          "expected one of F64, F32, I32, BF16, F16"));
  std::filesystem::rename(from / kTensorsFile, from / "pytorch_model.bin");
  EXPECT_THAT(refusal(imports), HasSubstr("has pytorch_model.bin, which nothing here reads: "
                                          "expected model.safetensors, as"));
  EXPECT_FALSE(std::filesystem::exists(run)) << "nothing is left";
}

TEST(HuggingFaceFolders, MayHaveColumnsThatTurnInHalvesAndBiasesOfLatents) {
  const Scratch scratch;
  const auto golden = kGolden / "deepseek_v3_halves", run = scratch.root / "run";
  const ImportReport report = import_parameters({golden, base_model(DType::f64), run});
  const nlohmann::json expected = json_of(golden / "expected.json");
  EXPECT_NEAR(loss_of(run, report.model, expected["tokens"], {1, 1, 2}), expected["loss"], 2e-6);
  // Written, they are neighbours.
  export_checkpoint({run, scratch.root / "hf"});
  EXPECT_THAT(SafetensorsFile(scratch.root / "hf" / kTensorsFile).names(),
              ::testing::UnorderedElementsAreArray(names_in(golden)));
  const auto again = scratch.root / "again";
  import_parameters({scratch.root / "hf", base_model(DType::f64), again});
  EXPECT_NEAR(loss_of(again, report.model, expected["tokens"], {}), expected["loss"], 2e-6);
}

TEST(HuggingFaceFolders, DropNoCopiesUnlessThatIsAskedFor) {
  const Scratch scratch;
  Model base = base_model();
  base.capacity_factor = 1.25;
  const ImportReport dropless =
      import_parameters({kGolden / "mixtral", base, scratch.root / "dropless"});
  EXPECT_FALSE(dropless.model.capacity_factor);
  EXPECT_THAT(dropless.remarks,
              ::testing::Contains(HasSubstr("capacity_factor = 1.25 of --model is \"dropless\"")));
  const ImportReport kept = import_parameters(
      {kGolden / "mixtral", base, scratch.root / "kept", {"moe.capacity_factor=1.25"}});
  EXPECT_EQ(kept.model.capacity_factor, 1.25);
}

TEST(HuggingFaceElements, OfHalvesAreReadExactly) {
  const std::vector<std::uint16_t> halves{0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff, 0x0000};
  const StoredTensor tensor{"x", "F16", {6}, std::as_bytes(std::span(halves))};
  EXPECT_THAT(elements_of(tensor, "f"),
              ::testing::ElementsAre(1, -2, 0.333251953125, 0x1p-24, 65504, 0));
}

}  // namespace
}  // namespace moe::hugging_face_test
