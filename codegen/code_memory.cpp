// Arenas of code, and which parts of them are free.
#include "codegen/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "weldir/support/round_up.h"

namespace weld {

namespace {

const auto kPage = std::size_t(::sysconf(_SC_PAGESIZE));
constexpr std::size_t kLine = 64;
constexpr std::size_t kCodeBytes = 768 << 10, kDataBytes = 256 << 10;  ///< of an arena: below a huge page

/// The free parts of a range.
class FreeRanges {
  public:
    FreeRanges(char* begin, std::size_t bytes) : all_(bytes), most_(bytes), ranges_{{begin, bytes}} {}

    bool is_whole() const { return ranges_.size() == 1 && ranges_[0].bytes == all_; }

    /// Reserves what one more `take` may have to note, so that neither it nor its `give` allocates.
    void prepare_to_take() { ranges_.reserve(takes_ + 2); }

    /// The first `bytes` that are free; null if there are none.
    char* take(std::size_t bytes) {
        if (bytes > most_) return nullptr;
        std::size_t most = 0;
        for (auto r = ranges_.begin(); r != ranges_.end(); ++r) {
            most = std::max(most, r->bytes);
            if (r->bytes < bytes) continue;
            char* const at = r->begin;
            *r = {at + bytes, r->bytes - bytes};
            if (!r->bytes) ranges_.erase(r);
            ++takes_;
            return at;
        }
        most_ = most;
        return nullptr;
    }

    void give(char* at, std::size_t bytes) {
        --takes_;
        auto next = std::ranges::lower_bound(ranges_, at, {}, &Range::begin);
        if (next != ranges_.end() && next->begin == at + bytes) *next = {at, bytes + next->bytes};
        else next = ranges_.insert(next, {at, bytes});
        most_ = std::max(most_, next->bytes);
        if (next == ranges_.begin()) return;
        const auto before = std::prev(next);
        if (before->begin + before->bytes != next->begin) return;
        before->bytes += next->bytes;
        most_ = std::max(most_, before->bytes);
        ranges_.erase(next);
    }

  private:
    struct Range {
        char* begin;
        std::size_t bytes;
    };
    std::size_t all_;
    std::size_t most_;  ///< no free part is larger
    std::size_t takes_ = 0;
    std::vector<Range> ranges_;  ///< by address; one more than takes at most
};

}  // namespace

struct CodeArena {
    CodeArena(std::size_t code_bytes, std::size_t data_bytes)
        : bytes(code_bytes + data_bytes),
          pages(map(bytes), {bytes}),
          fresh(pages.get()),
          code(pages.get(), code_bytes),
          data(pages.get() + code_bytes, data_bytes) {}

    bool is_empty() const { return code.is_whole() && data.is_whole(); }

  private:
    struct Unmap {
        std::size_t bytes;
        void operator()(char* pages) const { ::munmap(pages, bytes); }
    };
    static char* map(std::size_t bytes) {
        void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) throw std::bad_alloc();
        // They become one mapping again only if they were one when the first of them was used.
        *static_cast<volatile char*>(pages) = 0;
        return static_cast<char*>(pages);
    }

  public:
    const std::size_t bytes;
    const std::unique_ptr<char, Unmap> pages;
    char* fresh;  ///< pages from here on never held code
    FreeRanges code, data;
};

namespace {

/// All arenas of the process.
struct Arenas {
    std::mutex mutex;
    std::vector<std::unique_ptr<CodeArena>> list;

    static Arenas& all() {
        static Arenas& arenas = *new Arenas;  // programs may end after static objects
        return arenas;
    }

    CodeArena* add(std::size_t code_bytes, std::size_t data_bytes) {
        list.push_back(std::make_unique<CodeArena>(code_bytes, data_bytes));
        return list.back().get();
    }

    /// One that is empty stays, for the next program.
    void drop_if_empty(const CodeArena* arena) {
        if (!arena->is_empty() || (list.size() == 1 && arena->bytes == kCodeBytes + kDataBytes)) return;
        std::erase_if(list, [arena](const auto& one) { return one.get() == arena; });
    }
};

}  // namespace

CodeMemory::CodeMemory(std::size_t code_bytes, std::size_t data_bytes, std::size_t data_align)
    : code_bytes_(round_up(std::max<std::size_t>(1, code_bytes), kPage)),
      data_bytes_(round_up(std::max<std::size_t>(1, data_bytes), kLine) + std::max(data_align, kLine) -
                  kLine) {
    Arenas& arenas = Arenas::all();
    const std::lock_guard lock(arenas.mutex);
    const auto& list = arenas.list;
    if (std::none_of(list.begin(), list.end(), [this](const auto& arena) { return take_from(arena.get()); }))
        take_from(arenas.add(std::max(kCodeBytes, code_bytes_),
                             std::max(kDataBytes, round_up(data_bytes_, kPage))));
    const auto address = reinterpret_cast<std::uintptr_t>(data_taken_);
    data_ = data_taken_ + (round_up(address, data_align) - address);
    const bool held_code = code_ < arena_->fresh;
    arena_->fresh = std::max(arena_->fresh, code_ + code_bytes_);
    if (!held_code || ::mprotect(code_, code_bytes_, PROT_READ | PROT_WRITE) == 0) return;
    give_back();
    throw std::bad_alloc();
}

CodeMemory::~CodeMemory() {
    if (!arena_) return;
    const std::lock_guard lock(Arenas::all().mutex);
    give_back();
}

bool CodeMemory::take_from(CodeArena* arena) {
    arena->code.prepare_to_take();
    arena->data.prepare_to_take();
    code_ = arena->code.take(code_bytes_);
    if (!code_) return false;
    data_taken_ = arena->data.take(data_bytes_);
    if (data_taken_) arena_ = arena;
    else arena->code.give(code_, code_bytes_);
    return arena_ != nullptr;
}

void CodeMemory::give_back() {
    // The pages stay as they are used, so that they stay one mapping; what they hold goes.
    ::madvise(code_, code_bytes_, MADV_DONTNEED);
    if (data_bytes_ >= 2 * kPage) {
        char* const begin = data_taken_ + (-reinterpret_cast<std::uintptr_t>(data_taken_) & (kPage - 1));
        ::madvise(begin, std::size_t(data_taken_ + data_bytes_ - begin) / kPage * kPage, MADV_DONTNEED);
    }
    arena_->code.give(code_, code_bytes_);
    arena_->data.give(data_taken_, data_bytes_);
    Arenas::all().drop_if_empty(arena_);
}

void CodeMemory::make_executable() {
    if (::mprotect(code_, code_bytes_, PROT_READ | PROT_EXEC)) throw std::bad_alloc();
    __builtin___clear_cache(code_, code_ + code_bytes_);  // nothing on x86-64
}

}  // namespace weld
