#include "moe/input/toml_base.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/read_file.h"
#include "moe/input/setting.h"
#include "moe/input/toml.h"

namespace moe {
namespace {

void set_source(InputNode& node, int source) {
  node.source = source;
  if (auto* list = std::get_if<InputNode::List>(&node.value)) {
    for (InputNode& entry : *list) set_source(entry, source);
  } else if (auto* members = std::get_if<InputNode::Members>(&node.value)) {
    for (InputMember& member : *members) set_source(member.node, source);
  }
}

/// The keys of `over`, and those of `base` that it lacks, in tables of both too.
InputNode merged(InputNode base, InputNode over) {
  auto* below = std::get_if<InputNode::Members>(&base.value);
  auto* above = std::get_if<InputNode::Members>(&over.value);
  if (below == nullptr || above == nullptr) return over;
  for (InputMember& member : *below) {
    const auto same = std::find_if(above->begin(), above->end(),
                                   [&](const InputMember& m) { return m.key == member.key; });
    if (same == above->end()) {
      above->push_back(std::move(member));
    } else {
      same->node = merged(std::move(member.node), std::move(same->node));
    }
  }
  return over;
}

/// The file with all that it builds on. `files` are the files on the way to it.
InputNode read_with_bases(const std::filesystem::path& path, const FindBase& find,
                          std::vector<std::string>& files) {
  InputNode root = parse_toml_node(read_file(path), path.string());
  set_source(root, static_cast<int>(files.size()));
  files.push_back(path.string());

  const InputDocument own(files, InputDocument::Kind::toml, root);
  const auto base = own.object().optional_member("base");
  if (!base) return root;
  const std::string name = base->text("the file that this one builds on");
  std::filesystem::path found;
  try {
    found = find(name, path);
  } catch (const InputError& error) {
    base->refuse(error.what());
  }
  std::error_code ignored;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!std::filesystem::equivalent(files[i], found, ignored)) continue;
    std::string way;
    for (std::size_t j = i; j < files.size(); ++j) way += files[j] + " -> ";
    base->refuse("leads back to where it began: " + way + files[i]);
  }
  InputNode below = read_with_bases(found, find, files);
  std::erase_if(std::get<InputNode::Members>(below.value), [](const InputMember& member) {
    return member.key == "name" || member.key == "base";
  });
  return merged(std::move(below), std::move(root));
}

}  // namespace

InputDocument toml_below_settings(InputNode root, const std::string& name,
                                  const std::vector<std::string>& settings) {
  std::vector<std::string> texts;
  for (const std::string& text : settings) texts.push_back("--set " + text);
  set_source(root, static_cast<int>(texts.size()));
  texts.push_back(name);
  int source = 0;
  for (const Setting& setting : parse_settings(settings)) put(root, setting, source++);
  return InputDocument(std::move(texts), InputDocument::Kind::toml, std::move(root));
}

InputDocument read_toml_on_base(const std::filesystem::path& path, const FindBase& find,
                                const std::vector<std::string>& settings, std::size_t outside) {
  std::vector<std::string> files;
  for (const std::string& text : settings) files.push_back("--set " + text);
  InputNode root = read_with_bases(path, find, files);
  int source = 0;
  for (const Setting& setting : parse_settings(settings)) put(root, setting, source++, outside);
  return InputDocument(std::move(files), InputDocument::Kind::toml, std::move(root));
}

}  // namespace moe
