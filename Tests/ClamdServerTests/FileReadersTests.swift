import ClamdServer
import CPlatform
import Glibc
import HTTPServer
import Platform
import Synchronization
import Testing

/// Files that hang hold up few others, and their clients are told.
@Suite(.serialized)
struct FileReadersTests {
  /// What became of readings, by name.
  private final class Said: Sendable {
    let all = Mutex<[String: Int32]>([:])
  }

  /// Runs a loop with readers until a condition holds.
  private func run(
    _ change: (inout ClamdServer.Limits) -> Void, until isOver: @escaping ([String: Int32]) -> Bool,
    _ body: (FileReaders, Said) -> Void
  ) throws -> [String: Int32] {
    let (loop, said) = (try EventLoop(), Said())
    var limits = ClamdServer.Limits()
    change(&limits)
    let readers = try FileReaders(loop, limits)
    body(readers, said)
    var ticks = 0
    let look = { if isOver(said.all.withLock { $0 }) { loop.stop() } }
    loop.onTurn(look)
    loop.onTick {
      ticks += 1
      if ticks > 20 { loop.stop() }
    }
    try loop.run()
    return withExtendedLifetime(readers) { said.all.withLock { $0 } }
  }

  /// Waits until the other end is closed, as a file does that hangs.
  private static func hang(_ ends: [SharedDescriptor]) -> FileReaders.Work {
    { _ in
      var byte: UInt8 = 0
      return read(ends[0].number, &byte, 1) == 0 ? 0 : errno
    }
  }

  private func pipe() -> [SharedDescriptor] {
    var ends: (Int32, Int32) = (-1, -1)
    withUnsafeMutableBytes(of: &ends) { _ = Glibc.pipe($0.baseAddress?.assumingMemoryBound(to: Int32.self)) }
    return [ends.0, ends.1].map { SharedDescriptor(Descriptor(owning: $0)) }
  }

  @Test func thoseOfOnePeerThatHangLeaveThreadsToOthers() throws {
    let ends = pipe()
    let said = try run({ ($0.readers, $0.readersOfPeer, $0.readTime) = (4, 2, 1000) }) {
      $0.count == 8
    } _: {
      readers, said in
      for number in 1...5 {
        readers.read(for: "a", Self.hang(ends)) { error in said.all.withLock { $0["a\(number)"] = error } }
      }
      for number in 1...3 {
        readers.read(for: "b", { _ in Int32(number) }) { error in
          said.all.withLock { $0["b\(number)"] = error }
        }
      }
    }
    #expect((1...3).map { said["b\($0)"] } == [1, 2, 3])
    #expect((1...5).map { said["a\($0)"] } == [Int32?](repeating: ETIMEDOUT, count: 5))
  }

  @Test func whatHadNotBegunIsLetGoAtOnce() throws {
    final class Held: Sendable {}
    let ends = pipe()
    weak var held: Held?
    let said = try run({ ($0.readers, $0.readersOfPeer, $0.readTime) = (1, 1, 500) }) {
      $0.count == 2
    } _: {
      readers, said in
      readers.read(for: "a", Self.hang(ends)) { error in said.all.withLock { $0["1"] = error } }
      let object = Held()
      held = object
      readers.read(for: "a", { _ in withExtendedLifetime(object) { 0 } }) { error in
        let isGone = held == nil
        said.all.withLock { $0["2"] = isGone ? error : 0 }
      }
    }
    #expect(said == ["1": ETIMEDOUT, "2": ETIMEDOUT])
  }

  @Test func aThreadThatComesBackServesAgain() throws {
    var ends: [SharedDescriptor]? = pipe()
    let reading = ends.map { [$0[0]] } ?? []
    let said = try run({ ($0.readers, $0.readersOfPeer, $0.readTime) = (1, 1, 1000) }) {
      $0["2"] != nil
    } _: {
      readers, said in
      readers.read(for: "a", Self.hang(reading)) { error in
        said.all.withLock { $0["1"] = error }
        // Now what hung goes on.
        ends = nil
        readers.read(for: "a", { _ in 7 }) { error in said.all.withLock { $0["2"] = error } }
      }
    }
    #expect(said == ["1": ETIMEDOUT, "2": 7])
  }
}
