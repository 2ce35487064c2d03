#include "moe/command/sample_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "db/console/shown_text.h"
#include "moe/errors.h"

namespace moe {
namespace {

/// A token of text is a byte. What tokens of other files mean is in no file.
bool is_text(const Corpus& corpus) {
  const auto is_bytes = [](const Source::Part& part) { return part.file.is_text; };
  return std::ranges::all_of(corpus.sources, [&](const Source& source) {
    return std::ranges::all_of(source.parts, is_bytes);
  });
}

std::int32_t number_in(const std::string& word) {
  std::int32_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [stopped, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc() && stopped == end && number >= 0) return number;
  throw InputError(
      fmt::format("--prompt: the data are token files, which do not say what a token "
                  "means: expected numbers of tokens, as in \"15 2 7\", got \"{}\"",
                  db::shortened(word)));
}

}  // namespace

std::vector<std::int32_t> prompt_tokens(const std::optional<std::string>& prompt,
                                        const Corpus& corpus, const Model& model) {
  std::vector<std::int32_t> tokens;
  const bool text = is_text(corpus);
  if (!prompt) {
    tokens.push_back(text ? '\n' : 0);
  } else if (text) {
    for (const unsigned char byte : *prompt) tokens.push_back(byte);
  } else {
    std::istringstream words(*prompt);
    for (std::string word; words >> word;) tokens.push_back(number_in(word));
  }
  if (tokens.empty()) throw InputError("--prompt: expected at least one token, or no --prompt");
  for (const std::int32_t token : tokens) {
    if (token < model.vocabulary) continue;
    throw InputError(fmt::format("--prompt: token {} is not one of the {} of the model", token,
                                 model.vocabulary));
  }
  return tokens;
}

std::string between(const Corpus& corpus) { return is_text(corpus) ? "" : " "; }

std::string said_by(const std::vector<std::int32_t>& tokens, const Corpus& corpus) {
  if (!is_text(corpus)) return fmt::format("{}", fmt::join(tokens, " "));
  std::string text;
  for (const std::int32_t token : tokens) {
    constexpr std::int32_t kBytes = 256;  // a larger vocabulary has tokens that are no text
    text += token < kBytes ? std::string(1, static_cast<char>(token)) : fmt::format("<{}>", token);
  }
  return text;
}

}  // namespace moe
