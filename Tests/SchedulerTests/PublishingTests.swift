import Foundation
import Objects
import Platform
import Testing

@testable import Scheduler

/// An object whose rename fails after its attachment is on record.
struct PublishingTests {
  /// A store with two objects that wait for their paths.
  private final class Store {
    let path = NSTemporaryDirectory() + "sluice-publishing-\(UUID().uuidString)"
    let root: Int32
    let files: FileStore
    var publishing: Publishing

    init() throws {
      try FileManager.default.createDirectory(
        atPath: path + "/.incoming", withIntermediateDirectories: true)
      root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      files = FileStore(root: root, path)
      publishing = Publishing(files)
      for id in ["one", "two"] {
        try Data(id.utf8).write(to: URL(fileURLWithPath: "\(path)/.incoming/\(id)"))
      }
    }

    deinit {
      close(root)
      try? FileManager.default.removeItem(atPath: path)
    }

    func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(path)/\(name)") }

    func publish(_ id: String, to path: String) {
      publishing.publish(StagedObject(StagedName(id), path: path), ending: nil)
    }

    /// Renames what is due, as the thread does. Returns the first error.
    func work(at time: Int64) -> SystemError? {
      guard let batch = publishing.nextBatch(at: time) else { return nil }
      let results = batch.map { object in
        do throws(SystemError) {
          try files.publish(object)
          return SystemError?.none
        } catch {
          return error
        }
      }
      return publishing.take(results, at: time).failure
    }

    func claim(_ path: String, for id: String, _ sha256: String) -> Publishing.Claim {
      publishing.claim(path, for: StagedName(id), sha256)
    }
  }

  @Test func anObjectWhoseRenameFailsWaitsAndGetsItsPathLater() throws {
    let store = try Store()
    // A file in the place of a folder.
    try Data().write(to: URL(fileURLWithPath: store.path + "/documents"))
    #expect(store.claim("documents/a", for: "one", "hash") == .refused, "a stage is told before")
    store.publish("one", to: "documents/a")
    #expect(store.work(at: 1000)?.code == ENOTDIR && store.publishing.isBehind)
    #expect(store.publishing.nextTry == 2000)
    store.publish("two", to: "others/b")
    #expect(store.work(at: 1500) == nil, "others are not held up")
    #expect(store.publishing.nextTry == 2000, "and do not put off the next try")
    #expect(store.work(at: 2000)?.code == ENOTDIR)
    #expect(store.publishing.nextTry == 4000, "each wait is twice as long")
    try FileManager.default.removeItem(atPath: store.path + "/documents")
    #expect(store.work(at: 4000) == nil && !store.publishing.isBehind)
    #expect(store.publishing.nextTry == nil)
    #expect(store.has("documents/a") && store.has("others/b") && !store.has(".incoming/one"))
  }

  @Test func theLongestWaitIsHalfAMinute() throws {
    let store = try Store()
    try Data().write(to: URL(fileURLWithPath: store.path + "/documents"))
    store.publish("one", to: "documents/a")
    var now: Int64 = 0
    var waits: [Int64] = []
    for _ in 0..<12 {
      _ = store.work(at: now)
      let next = try #require(store.publishing.nextTry)
      waits.append(next - now)
      now = next
    }
    #expect(Array(waits.prefix(6)) == [1000, 2000, 4000, 8000, 16_000, 30_000])
    #expect(waits.suffix(6).allSatisfy { $0 == 30_000 })
  }

  /// The path stays reserved as long as the object waits for it.
  @Test func nobodyElseGetsThePathMeanwhile() throws {
    let store = try Store()
    #expect(store.claim("documents/a", for: "one", "hash") == .granted)
    try Data().write(to: URL(fileURLWithPath: store.path + "/documents"))
    store.publish("one", to: "documents/a")
    _ = store.work(at: 0)
    try FileManager.default.removeItem(atPath: store.path + "/documents")
    #expect(store.claim("documents/a", for: "two", "other") == .refused)
    #expect(store.claim("documents/a", for: "two", "hash") == .granted, "equal content shares it")
    store.publishing.release("documents/a")
    #expect(store.work(at: 1000) == nil)
    #expect(store.claim("documents/a", for: "two", "other") == .lookAgain, "it is taken now")
    #expect(!store.has(".incoming/two"), "what was stored for it is discarded")
  }

  /// The stage found an object there and stored nothing of its own; by the time it says so, the object was deleted.
  @Test func anObjectThatIsGoneAgainIsLookedForAgain() throws {
    let store = try Store()
    try Data().write(to: URL(fileURLWithPath: store.path + "/a"))
    #expect(store.claim("a", for: "three", "hash") == .granted)
    store.publishing.release("a")
    try FileManager.default.removeItem(atPath: store.path + "/a")
    #expect(store.claim("a", for: "three", "hash") == .lookAgain)
  }

  @Test func anObjectOfAnEarlierRunIsTriedAfterASecond() throws {
    let store = try Store()
    store.publishing.wait(for: StagedObject(StagedName("one"), path: "documents/a"), at: 500)
    #expect(store.publishing.isBehind && store.publishing.isSettled && store.publishing.nextTry == 1500)
    #expect(store.work(at: 1499) == nil && !store.has("documents/a"))
    #expect(store.work(at: 1500) == nil && store.has("documents/a") && !store.publishing.isBehind)
  }

  @Test func oneBatchIsUnderWayAtATime() throws {
    let store = try Store()
    store.publish("one", to: "documents/a")
    let first = store.publishing.nextBatch(at: 0)
    store.publish("two", to: "documents/b")
    let meanwhile = store.publishing.nextBatch(at: 0)
    #expect(first == [StagedObject(StagedName("one"), path: "documents/a")] && meanwhile == nil)
    _ = store.publishing.take([nil], at: 0)
    let second = store.publishing.nextBatch(at: 0)
    #expect(second == [StagedObject(StagedName("two"), path: "documents/b")] && !store.publishing.isSettled)
    let failed = store.publishing.take([SystemError("naming it", code: EIO)], at: 0).failure
    #expect(failed?.code == EIO && store.publishing.isSettled && store.publishing.isBehind)
  }
}
