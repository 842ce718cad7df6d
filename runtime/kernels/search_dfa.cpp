// Pattern -> positions -> states.
//
// Every place of the pattern where a byte is read is a position; `follow` says which may come after which
// (Glushkov's automaton, which has no empty steps). A state of the automaton is a set of positions, one of
// which reads the next byte; those that begin a match are always among them, since a match may begin
// anywhere. For `a[0-5]+b`:
//
//     positions  0 a   1 [0-5]   2 b        first {0}   last {2}   follow 0 -> {1}, 1 -> {1, 2}
//     states     start {0}   after a {0, 1}   after a0 {0, 1, 2}   accept
//
// Whether there is a match does not depend on which is preferred, so lazy repetitions are repetitions.
#include "runtime/kernels/search_dfa.h"

#include <bit>
#include <map>
#include <utility>

namespace weld::runtime {

namespace {

constexpr int kMostPositions = 64;
constexpr std::size_t kMostStates = 64;
constexpr int kMostDepth = 50;
constexpr int kMostWork = 10'000;  // atoms, those of repetitions counted each time
using Positions = std::uint64_t;

/// A fragment of the pattern.
struct Fragment {
    bool empty = true;  // may be nothing
    Positions first = 0, last = 0;
};

/// Reads what RE2 has accepted, so only what it leaves aside has to be found out.
class Reader {
  public:
    explicit Reader(std::string_view pattern) : text_(pattern) {}

    bool read() {
        whole = alternatives();
        return good_ && at_ == text_.size();
    }

    Fragment whole;
    ByteSet bytes[kMostPositions];
    Positions follow[kMostPositions] = {};
    int count = 0;

  private:
    // ---- putting parts together

    Fragment position(const ByteSet& set) {
        if (count == kMostPositions) return leave();
        bytes[count] = set;
        const Positions bit = Positions(1) << count++;
        return {false, bit, bit};
    }

    Fragment in_a_row(const Fragment& a, const Fragment& b) {
        connect(a.last, b.first);
        return {a.empty && b.empty, a.first | (a.empty ? b.first : 0), b.last | (b.empty ? a.last : 0)};
    }

    static Fragment either(const Fragment& a, const Fragment& b) {
        return {a.empty || b.empty, a.first | b.first, a.last | b.last};
    }

    void connect(Positions from, Positions to) {
        for (int p = 0; p < count; ++p)
            if (from >> p & 1) follow[p] |= to;
    }

    static ByteSet range(int low, int high) {
        ByteSet set;
        for (int c = low; c <= high; ++c) set.set(std::size_t(c));
        return set;
    }

    /// One letter that is in `ascii`, or any letter beyond; as RE2, it takes some overlong forms for letters.
    Fragment letter(const ByteSet& ascii, bool beyond) {
        const Fragment one = ascii.any() ? position(ascii) : Fragment{false};
        if (!beyond) return one;
        Fragment tail, all = one;
        for (const auto& [low, high] : {std::pair{0xC2, 0xDF}, {0xE0, 0xEF}, {0xF0, 0xF4}}) {
            const Fragment more = position(range(0x80, 0xBF));
            tail = tail.first ? in_a_row(more, {false, tail.first, tail.last}) : more;
            all = either(all, in_a_row(position(range(low, high)), tail));
        }
        return all;
    }

    // ---- reading

    Fragment leave() {
        good_ = false;
        at_ = text_.size();
        return {};
    }
    bool more() const { return at_ < text_.size(); }
    char peek() const { return text_[at_]; }
    bool take(char c) { return more() && peek() == c && ++at_; }
    bool take(std::string_view s) {
        if (!text_.substr(at_).starts_with(s)) return false;
        at_ += s.size();
        return true;
    }

    Fragment alternatives() {
        Fragment all = sequence();
        while (take('|')) all = either(all, sequence());
        return all;
    }

    Fragment sequence() {
        Fragment all;
        while (more() && peek() != '|' && peek() != ')') all = in_a_row(all, repeated());
        return all;
    }

    /// An atom and what says how often. There is one such sign at most, and a `?` behind it changes nothing.
    Fragment repeated() {
        const std::size_t begin = at_;
        Fragment fragment = atom();
        int least, most;
        if (take('*')) fragment = repeat(fragment, true);
        else if (take('+')) fragment = repeat(fragment, false);
        else if (take('?')) fragment.empty = true;
        else if (counts(&least, &most)) fragment = repeat(fragment, begin, least, most);
        else return fragment;
        take('?');
        return fragment;
    }

    /// `fragment{least,most}`, where `fragment` was read at `begin`: it is read again for each further time.
    Fragment repeat(Fragment fragment, std::size_t begin, int least, int most) {
        const std::size_t end = at_;
        const bool endless = most < 0;
        Fragment all = fragment;
        if (least == 0) all.empty = true;
        for (int i = 1; i < (endless ? least : most) && good_; ++i) {
            at_ = begin;
            fragment = atom();
            if (i >= least) fragment.empty = true;
            all = in_a_row(all, fragment);
        }
        if (endless) connect(fragment.last, fragment.first);
        if (good_) at_ = end;
        return most == 0 ? Fragment{} : all;
    }

    Fragment repeat(Fragment fragment, bool empty) {
        connect(fragment.last, fragment.first);
        fragment.empty |= empty;
        return fragment;
    }

    /// `{2}` `{2,}` `{2,4}`; what else begins with `{` is a letter. -1: no end.
    bool counts(int* least, int* most) {
        const std::size_t begin = at_;
        if (take('{') && number(least)) {
            *most = *least;
            if (take(',') && !number(most)) *most = -1;
            if (take('}')) return true;
        }
        at_ = begin;
        return false;
    }

    /// Without zeros before it.
    bool number(int* n) {
        const std::size_t begin = at_;
        for (*n = 0; more() && peek() >= '0' && peek() <= '9' && *n <= 1000; ++at_)
            *n = 10 * *n + (peek() - '0');
        if (at_ == begin + 1 || (at_ > begin && text_[begin] != '0')) return true;
        at_ = begin;
        return false;
    }

    Fragment atom() {
        if (!more() || ++work_ > kMostWork) return leave();
        const char c = text_[at_++];
        switch (c) {
            case '(': return group();
            case '[': return char_class();
            case '.': return letter(range(0, 0x7F).reset('\n'), true);
            case '\\': return escape();
            case '^':
            case '$':
            case '*':
            case '+':
            case '?': return leave();
            default: return literal(c);
        }
    }

    /// Repetitions are of whole letters.
    Fragment literal(char c) {
        Fragment all = position(ByteSet().set(std::uint8_t(c)));
        if (std::uint8_t(c) < 0x80) return all;
        while (more() && (std::uint8_t(peek()) & 0xC0) == 0x80)
            all = in_a_row(all, position(ByteSet().set(std::uint8_t(text_[at_++]))));
        return all;
    }

    Fragment group() {
        if (take("?P<")) {
            while (more() && !take('>')) ++at_;
        } else if (!take("?:") && more() && peek() == '?') {
            return leave();
        }
        if (++depth_ > kMostDepth) return leave();
        const Fragment inside = alternatives();
        --depth_;
        return take(')') ? inside : leave();
    }

    /// The letters of `\d`, `\w`, `\s`, and of escapes for one letter; false if it is another one.
    bool escaped(char c, ByteSet* set, bool* negated) {
        static constexpr std::string_view kLetters = "nrtfva", kMeanings = "\n\r\t\f\v\a";
        *negated = c == 'D' || c == 'W' || c == 'S';
        if (c == 'd' || c == 'D') *set = range('0', '9');
        else if (c == 'w' || c == 'W')
            *set = range('0', '9') | range('a', 'z') | range('A', 'Z') | range('_', '_');
        else if (c == 's' || c == 'S') *set = range('\t', '\n') | range('\f', '\r') | range(' ', ' ');
        else if (const std::size_t i = kLetters.find(c); i != std::string_view::npos)
            set->set(std::size_t(kMeanings[i]));
        else if (std::uint8_t(c) < 0x80 && !is_word(c)) set->set(std::size_t(c));
        else return false;
        return true;
    }
    static bool is_word(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    }

    Fragment escape() {
        ByteSet set;
        bool negated = false;
        if (!more() || !escaped(text_[at_++], &set, &negated)) return leave();
        return negated ? letter(range(0, 0x7F) & ~set, true) : position(set);
    }

    Fragment char_class() {
        const bool negated = take('^');
        ByteSet set;
        for (bool first = true; first || !take(']'); first = false) {  // a `]` at first is a letter
            if (!more() || std::uint8_t(peek()) >= 0x80) return leave();
            if (peek() == '[' && text_.substr(at_).starts_with("[:")) return leave();
            const int low = class_letter(&set);
            if (low < 0) return leave();
            if (low == kNoLetter) continue;
            if (peek_range()) {
                ++at_;
                if (std::uint8_t(peek()) >= 0x80) return leave();
                ByteSet ignored;
                const int high = class_letter(&ignored);
                if (high < low || high == kNoLetter) return leave();
                set |= range(low, high);
            } else {
                set.set(std::size_t(low));
            }
        }
        if (negated) return letter(range(0, 0x7F) & ~set, true);
        return set.any() ? position(set) : leave();
    }

    bool peek_range() const { return at_ + 1 < text_.size() && peek() == '-' && text_[at_ + 1] != ']'; }

    static constexpr int kNoLetter = 256;
    /// A letter of a class; kNoLetter if it was a class itself, which is then in `set`; -1 if it is unknown.
    int class_letter(ByteSet* set) {
        const char c = text_[at_++];
        if (c != '\\') return std::uint8_t(c);
        ByteSet some;
        bool negated;
        if (!more() || !escaped(text_[at_++], &some, &negated) || negated) return -1;
        if (some.count() == 1) return int(some._Find_first());
        *set |= some;
        return kNoLetter;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0, work_ = 0;
    bool good_ = true;
};

}  // namespace

std::optional<SearchDfa> SearchDfa::make(std::string_view pattern) {
    Reader r(pattern);
    if (!r.read()) return {};
    SearchDfa dfa;
    dfa.matches_empty_ = r.whole.empty;
    std::map<Positions, std::uint8_t> numbers;
    std::vector<Positions> states;
    auto number = [&](Positions set) {
        const auto [at, added] = numbers.try_emplace(set, std::uint8_t(states.size()));
        if (added) states.push_back(set);
        return at->second;
    };
    number(r.whole.first);  // kStart
    states.push_back(0);    // kAccept: what it reads makes no difference
    for (std::size_t s = 0; s < states.size(); ++s) {
        if (s == kMostStates) return {};
        auto& next = dfa.next_.emplace_back();
        next.fill(kAccept);
        for (std::size_t c = 0; s != kAccept && c < 256; ++c) {
            bool ends = false;
            Positions set = r.whole.first;
            for (Positions left = states[s]; left; left &= left - 1) {
                const int p = std::countr_zero(left);
                if (!r.bytes[p][c]) continue;
                ends |= r.whole.last >> p & 1;
                set |= r.follow[p];
            }
            if (!ends) next[c] = number(set);
        }
    }
    return dfa;
}

ByteSet SearchDfa::first_bytes() const {
    ByteSet set;
    for (std::size_t c = 0; c < 256; ++c) set[c] = next_[kStart][c] != kStart;
    return set;
}

// A byte that leads where it would have led from the start anyway ends the match that was under way.
ByteSet SearchDfa::second_bytes() const {
    ByteSet set;
    for (const std::uint8_t state : next_[kStart]) {
        if (state == kStart) continue;
        if (state == kAccept) return set.set();
        for (std::size_t c = 0; c < 256; ++c)
            if (next_[state][c] != next_[kStart][c]) set.set(c);
    }
    return set;
}

}  // namespace weld::runtime
