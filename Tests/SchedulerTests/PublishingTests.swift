import Foundation
import Objects
import Testing

@testable import Scheduler

/// An object whose rename fails after its attachment is on record.
struct PublishingTests {
  /// A store with two objects that wait for their paths.
  private final class Store {
    let path = NSTemporaryDirectory() + "sluice-publishing-\(UUID().uuidString)"
    let root: Int32
    let publishing: Publishing

    init() throws {
      try FileManager.default.createDirectory(
        atPath: path + "/.incoming", withIntermediateDirectories: true)
      root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      publishing = Publishing(FileStore(root: root, path))
      for id in ["one", "two"] {
        try Data(id.utf8).write(to: URL(fileURLWithPath: "\(path)/.incoming/\(id)"))
      }
    }

    deinit {
      close(root)
      try? FileManager.default.removeItem(atPath: path)
    }

    func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(path)/\(name)") }
  }

  @Test func anObjectWhoseRenameFailsWaitsAndGetsItsPathLater() throws {
    let store = try Store()
    // A file in the place of a folder.
    try Data().write(to: URL(fileURLWithPath: store.path + "/documents"))
    #expect(store.publishing.claim("documents/a", for: "one", "hash") == .refused, "a stage is told before")
    let error = store.publishing.publish("one", to: "documents/a", at: 1000)
    #expect(error?.code == ENOTDIR && store.publishing.isBehind)
    #expect(store.publishing.nextTry == 2000)
    #expect(store.publishing.publish("two", to: "others/b", at: 1500) == nil, "others are not held up")
    #expect(store.publishing.tryAgain(at: 2000)?.code == ENOTDIR)
    #expect(store.publishing.nextTry == 4000, "each wait is twice as long")
    try FileManager.default.removeItem(atPath: store.path + "/documents")
    #expect(store.publishing.tryAgain(at: 4000) == nil && !store.publishing.isBehind)
    #expect(store.publishing.nextTry == nil)
    #expect(store.has("documents/a") && store.has("others/b") && !store.has(".incoming/one"))
  }

  @Test func theLongestWaitIsHalfAMinute() throws {
    let store = try Store()
    try Data().write(to: URL(fileURLWithPath: store.path + "/documents"))
    _ = store.publishing.publish("one", to: "documents/a", at: 0)
    var now: Int64 = 0
    var waits: [Int64] = []
    for _ in 0..<12 {
      let next = try #require(store.publishing.nextTry)
      waits.append(next - now)
      now = next
      _ = store.publishing.tryAgain(at: now)
    }
    #expect(Array(waits.prefix(6)) == [1000, 2000, 4000, 8000, 16_000, 30_000])
    #expect(waits.suffix(6).allSatisfy { $0 == 30_000 })
  }

  /// The path stays reserved as long as the object waits for it.
  @Test func nobodyElseGetsThePathMeanwhile() throws {
    let store = try Store()
    #expect(store.publishing.claim("documents/a", for: "one", "hash") == .granted)
    try Data().write(to: URL(fileURLWithPath: store.path + "/documents"))
    _ = store.publishing.publish("one", to: "documents/a", at: 0)
    try FileManager.default.removeItem(atPath: store.path + "/documents")
    #expect(store.publishing.claim("documents/a", for: "two", "other") == .refused)
    #expect(store.publishing.claim("documents/a", for: "two", "hash") == .granted, "equal content shares it")
    store.publishing.release("documents/a")
    #expect(store.publishing.tryAgain(at: 1000) == nil)
    #expect(store.publishing.claim("documents/a", for: "two", "other") == .lookAgain, "it is taken now")
    #expect(!store.has(".incoming/two"), "what was stored for it is discarded")
  }
}
