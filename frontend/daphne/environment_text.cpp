// Environments as text: numbers and strings with their lengths, one after the other.
#include <bit>
#include <charconv>

#include "frontend/daphne/environment.h"

namespace weld::daphne {

namespace {

class TextWriter {
  public:
    void operator()(std::int64_t n) { (text_ += std::to_string(n)) += ' '; }
    void operator()(const std::string& s) {
        (*this)(std::int64_t(s.size()));
        text_ += s;
    }
    void operator()(double x) { (*this)(std::bit_cast<std::int64_t>(x)); }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

/// What is not there is 0 or empty, and the text is not good.
class TextReader {
  public:
    explicit TextReader(std::string_view text) : rest_(text) {}
    void operator()(std::int64_t& n) {
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
        const auto taken = std::size_t(end - rest_.data());
        good_ = good_ && error == std::errc() && taken < rest_.size() && rest_[taken] == ' ';
        rest_.remove_prefix(good_ ? taken + 1 : rest_.size());
        if (!good_) n = 0;
    }
    void operator()(std::string& s) {
        std::int64_t size = 0;
        (*this)(size);
        good_ = good_ && size >= 0 && std::size_t(size) <= rest_.size();
        s = rest_.substr(0, good_ ? std::size_t(size) : 0);
        rest_.remove_prefix(s.size());
    }
    void operator()(double& x) {
        std::int64_t bits = 0;
        (*this)(bits);
        x = std::bit_cast<double>(bits);
    }
    bool good() const { return good_; }
    bool at_end() const { return rest_.empty(); }

  private:
    std::string_view rest_;
    bool good_ = true;
};

/// A number that is not an i64 in the environment.
template <class T>
void number(TextWriter& to, const T& n) {
    to(std::int64_t(n));
}
template <class T>
void number(TextReader& from, T& n) {
    std::int64_t read = 0;
    from(read);
    n = T(read);
}

void list(TextWriter& to, const auto& all, const auto& each) {
    to(std::int64_t(all.size()));
    for (const auto& one : all) each(one);
}
void list(TextReader& from, auto& all, const auto& each) {
    std::int64_t size = 0;
    from(size);
    for (std::int64_t i = 0; i < size && from.good(); ++i) each(all.emplace_back());
}

/// The parts of an environment in their order, to be written or read.
template <class Text>
void transfer(Text& text, auto& environment) {
    list(text, environment.variables, [&](auto& v) {
        text(v.name);
        text(v.block);
        number(text, v.is_view);
        number(text, v.type.data);
        number(text, v.type.value);
        number(text, v.type.is_sparse);
        list(text, v.type.columns, [&](auto& column) {
            text(column.label);
            number(text, column.value);
        });
        text(v.rows);
        text(v.columns);
        number(text, v.is_wanted);
        const auto scalar = [&](auto& c) {
            number(text, c.value);
            text(c.integer);
            text(c.number);
            text(c.text);
        };
        auto constant = v.constant ? std::vector{*v.constant} : std::vector<Constant>();
        list(text, constant, scalar);
        list(text, v.cells, scalar);
        if constexpr (requires { v.constant.reset(); }) {
            if (!constant.empty()) v.constant = constant.front();
        }
    });
    list(text, environment.definitions, [&](auto& definition) { text(definition); });
    list(text, environment.blocks, [&](auto& block) {
        text(block.next);
        number(text, block.is_second);
        text(block.import);
        number(text, block.keeps_constants);
        text(block.call);
        text(block.function);
    });
    number(text, environment.has_rest);
    number(text, environment.is_prepared);
}

}  // namespace

std::string ScriptEnvironment::text() const {
    TextWriter to;
    transfer(to, *this);
    return to.take();
}

std::shared_ptr<const Environment> read_environment(std::string_view text) {
    TextReader from(text);
    auto environment = std::make_shared<ScriptEnvironment>();
    transfer(from, *environment);
    if (!from.good() || !from.at_end()) return nullptr;
    return environment;
}

}  // namespace weld::daphne
