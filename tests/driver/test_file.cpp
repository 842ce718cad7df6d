// Reading `#@` lines.
#include "tests/driver/test_file.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "runtime/abi/weld_abi.h"

namespace weld::driver {

static const std::map<std::string, int>& codes() {
    static const std::map<std::string, int> all = {
        {"ArrayOutOfBounds", kWeldArrayOutOfBounds},
        {"BadIteratorLength", kWeldBadIteratorLength},
        {"MismatchedZipSize", kWeldMismatchedZipSize},
        {"OutOfMemory", kWeldOutOfMemory},
        {"DeserializationError", kWeldDeserializationError},
        {"KeyNotFound", kWeldKeyNotFound},
        {"AssertionError", kWeldAssertionError},
        {"DivisionByZero", kWeldDivisionByZero},
        {"KernelError", kWeldKernelError},
        {"StackOverflow", kWeldStackOverflow},
    };
    return all;
}

std::optional<int> code_of(const std::string& name) {
    const auto at = codes().find(name);
    return at == codes().end() ? std::nullopt : std::optional<int>(at->second);
}

std::string name_of_code(int code) {
    for (const auto& [name, number] : codes())
        if (number == code) return name;
    return "code " + std::to_string(code);
}

namespace {

std::string trimmed(const std::string& s) {
    const std::size_t begin = s.find_first_not_of(" \t\r"), end = s.find_last_not_of(" \t\r");
    return begin == std::string::npos ? "" : s.substr(begin, end - begin + 1);
}

std::vector<std::string> names_in(std::string list) {
    list = list.substr(0, list.find('#'));
    std::vector<std::string> names;
    std::stringstream in(list);
    for (std::string name; std::getline(in, name, ',');)
        if (!trimmed(name).empty()) names.push_back(trimmed(name));
    return names;
}

/// `\n` is the end of a line, `\s` a blank.
std::string unescaped(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escape = text[i] == '\\' && i + 1 < text.size();
        if (escape) ++i;
        out += escape && text[i] == 'n' ? '\n' : escape && text[i] == 's' ? ' ' : text[i];
    }
    return out;
}

/// What stands before the first `#@ program:` of a file is often nothing but a comment.
bool is_comment(const std::string& text) {
    std::stringstream in(text);
    for (std::string line; std::getline(in, line);)
        if (!trimmed(line).empty() && trimmed(line)[0] != '#') return false;
    return true;
}

class FileReader {
  public:
    explicit FileReader(TestFile& file) : file_(file) {}

    void read() {
        begin_case("", 0);
        for (std::size_t i = 0; i < file_.lines.size() && file_.error.empty(); ++i) {
            const std::string& line = file_.lines[i];
            if (line.rfind("#@", 0) != 0) {
                add(line);
                continue;
            }
            const std::string rest = trimmed(line.substr(2));
            const std::size_t colon = rest.find(':');
            end_after(i);
            directive(rest.substr(0, colon),
                      colon == std::string::npos ? "" : trimmed(rest.substr(colon + 1)), i);
        }
        end_after(file_.lines.size());
        std::erase_if(file_.cases, [](const TestCase& c) {
            return is_comment(c.program) && c.errors.empty() && c.calls.empty();
        });
        if (file_.cases.empty() && file_.error.empty()) file_.error = "there is no program in it";
    }

  private:
    TestCase& now() { return file_.cases.back(); }

    void begin_case(const std::string& title, std::size_t line) {
        file_.cases.emplace_back();
        now().title = title;
        now().program = std::string(line, '\n');
        in_after_ = false;
    }

    void add(const std::string& line) {
        if (in_after_) *now().after += line + '\n';
        else now().program += line + '\n';
    }

    void end_after(std::size_t line) {
        if (in_after_) now().after_end = line;
        in_after_ = false;
    }

    void directive(const std::string& key, const std::string& value, std::size_t line) {
        if (key == "program") return begin_case(value, line + 1);
        now().program += '\n';  // the line itself
        if (key == "passes") now().passes = names_in(value);
        else if (key == "most-optimised") now().most_optimised = std::stoll(value);
        else if (key == "after") begin_after(line);
        else if (key == "call" || key == "fails") call(value, key == "fails", line);
        else if (key == "prints" && !now().calls.empty()) now().calls.back().prints = unescaped(value);
        else if (key == "says" && !now().calls.empty()) now().calls.back().says = value;
        else if (key == "error") error(value, line);
        else if (key == "unordered") now().unordered = true;
        else fail(line, "there is no `#@ " + key + "`");
    }

    void begin_after(std::size_t line) {
        now().after = "";
        now().after_begin = line + 1;
        in_after_ = true;
    }

    void call(const std::string& text, bool fails, std::size_t line) {
        const std::size_t arrow = text.rfind("=>");
        if (arrow == std::string::npos) return fail(line, "`=>` is missing");
        now().calls.push_back(
            {line + 1, trimmed(text.substr(0, arrow)), trimmed(text.substr(arrow + 2)), fails});
    }

    void error(const std::string& text, std::size_t line) {
        const std::size_t space = text.find(' ');
        now().errors.push_back(
            {line + 1, text.substr(0, space), space == std::string::npos ? "" : trimmed(text.substr(space))});
    }

    void fail(std::size_t line, const std::string& message) {
        file_.error = std::to_string(line + 1) + ": " + message;
    }

    TestFile& file_;
    bool in_after_ = false;
};

}  // namespace

TestFile read_test_file(const std::string& path) {
    TestFile file;
    file.path = path;
    std::ifstream in(path);
    if (!in) {
        file.error = "it cannot be read";
        return file;
    }
    for (std::string line; std::getline(in, line);) file.lines.push_back(line);
    FileReader(file).read();
    return file;
}

}  // namespace weld::driver
