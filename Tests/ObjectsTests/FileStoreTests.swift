import Foundation
import HomeFolder
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform
import Testing

@testable import Objects

struct FileStoreTests {
  /// A home with a store, deleted when the test ends.
  private final class Store {
    let home = Home(NSTemporaryDirectory() + "sluice-store-" + UUID().uuidString)
    let root: Int32
    let objects: FileStore

    init() throws {
      try home.create()
      try FileManager.default.createDirectory(
        atPath: home.storePath + "/.incoming", withIntermediateDirectories: false)
      root = open(home.storePath, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      objects = FileStore(root: root, home.storePath)
    }

    deinit {
      close(root)
      try? FileManager.default.removeItem(atPath: home.path)
    }

    func arrive(_ id: String, _ text: String = "content") throws {
      try Data(text.utf8).write(to: URL(fileURLWithPath: home.storePath + "/.incoming/" + id))
    }

    func read(_ path: String) -> String? {
      try? String(contentsOfFile: home.storePath + "/" + path, encoding: .utf8)
    }

    var incoming: [String] {
      get throws {
        try FileManager.default.contentsOfDirectory(atPath: home.storePath + "/.incoming").sorted()
      }
    }
  }

  @Test func anObjectGetsItsPathAndTheFoldersAreMade() throws {
    let store = try Store()
    try store.arrive("id-1")
    try store.objects.publish(StagedObject(StagedName("id-1"), path: "documents/c/m/a.pdf"))
    #expect(store.read("documents/c/m/a.pdf") == "content")
    #expect(try store.incoming.isEmpty)
    try store.arrive("id-2")
    try store.objects.publish(StagedObject(StagedName("id-2"), path: "b"))
    #expect(store.read("b") == "content")
  }

  @Test func aFileOfTheHomeIsLinkedOnce() throws {
    let store = try Store()
    let path = store.home.path + "/part"
    try Data("content".utf8).write(to: URL(fileURLWithPath: path))
    let file = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    let name = StagedName(attachmentId: "id-1", nil, derived: StagedName.adopted)
    #expect(store.objects.adopt(path, open: file, as: name) == ".incoming/\(name.text)")
    #expect(store.read(".incoming/\(name.text)") == "content")
    let other = StagedName(attachmentId: "id-2", nil, derived: StagedName.adopted)
    #expect(store.objects.adopt(path, open: file, as: other) == nil, "it may be an object by now")
    store.objects.discard(name)
    #expect(try store.incoming.isEmpty)
    // Another file has taken its place.
    try FileManager.default.moveItem(atPath: path, toPath: path + "-before")
    try Data("another".utf8).write(to: URL(fileURLWithPath: path))
    #expect(store.objects.adopt(path, open: file, as: name) == nil)
    #expect(try store.incoming.isEmpty)
  }

  @Test func aFolderThatIsDeletedMeanwhileIsMadeAgain() throws {
    let store = try Store()
    for id in ["id-1", "id-2"] { try store.arrive(id) }
    try store.objects.publish(StagedObject(StagedName("id-1"), path: "documents/c/a"))
    try FileManager.default.removeItem(atPath: store.home.storePath + "/documents")
    try store.objects.publish(StagedObject(StagedName("id-2"), path: "documents/c/b"))
    #expect(store.read("documents/c/b") == "content")
  }

  @Test func publishingAgainChangesNothing() throws {
    let store = try Store()
    try store.arrive("id-1")
    try store.objects.publish(StagedObject(StagedName("id-1"), path: "documents/a"))
    try store.objects.publish(StagedObject(StagedName("id-1"), path: "documents/a"))
    try FileStore(root: store.root, store.home.storePath).publish(
      StagedObject(StagedName("id-1"), path: "documents/a"))
    #expect(store.read("documents/a") == "content")
  }

  @Test func nothingThatLiesAtAPathIsReplaced() throws {
    let store = try Store()
    try store.arrive("id-1", "first")
    try store.objects.publish(StagedObject(StagedName("id-1"), path: "documents/a"))
    try store.arrive("id-2", "second")
    #expect(throws: SystemError.self) {
      try store.objects.publish(StagedObject(StagedName("id-2"), path: "documents/a"))
    }
    #expect(store.read("documents/a") == "first" && store.read(".incoming/id-2") == "second")
  }

  @Test func anObjectThatIsNowhereIsAnError() throws {
    let store = try Store()
    let error = try #require(throws: SystemError.self) {
      try store.objects.publish(StagedObject(StagedName("id-1"), path: "documents/a"))
    }
    #expect(error.code == ENOENT && error.action == "naming the object documents/a")
  }

  @Test func aFileInTheWayOfAFolderIsAnError() throws {
    let store = try Store()
    try store.arrive("id-1")
    try store.objects.publish(StagedObject(StagedName("id-1"), path: "documents"))
    try store.arrive("id-2")
    #expect(throws: SystemError.self) {
      try store.objects.publish(StagedObject(StagedName("id-2"), path: "documents/b"))
    }
    #expect(throws: SystemError.self) {
      try store.objects.publish(StagedObject(StagedName("id-2"), path: "documents/b/c"))
    }
    #expect(try store.incoming == ["id-2"])
  }

  @Test func whatIsDiscardedIsGone() throws {
    let store = try Store()
    try store.arrive("id-1")
    store.objects.discard(StagedName("id-1"))
    store.objects.discard(StagedName("id-1"))
    #expect(try store.incoming.isEmpty)
  }

  @Test func recoveryFinishesWhatIsOnRecordAndTakesTheRestAway() throws {
    let store = try Store()
    let ledger = try SQLiteLedger(store.home)
    var request = Exchange(number: 1)
    let items = ["a", "b", "c", "d"].map { name in
      IntakeItem(
        conversationId: "c", messageId: nil, senderId: "ann", participants: [], fileName: name,
        source: Array("/in/\(name)".utf8), sourceSize: 1, sourceModified: 1, origin: "")
    }
    request.commands = [.takeIn(items)]
    request.wanted = [Want(.attachments, 3)]
    let leases = try ledger.exchange(request).leases
    let ids = leases.compactMap {
      if case .attachment(let attachment) = $0.work { attachment.origin.id } else { nil }
    }
    try #require(ids.count == 3)
    request = Exchange(number: 2)
    // The first two are completed, the third is rejected, the fourth is still queued.
    for (index, lease) in leases.enumerated() {
      guard case .attachment(let attachment) = lease.work else { continue }
      request.settlements.append(
        Settlement(
          lease,
          .attachment(
            EndedAttachment(
              attachment,
              AttachmentOutcome(
                index < 2 ? .completed : .rejected,
                reason: index < 2 ? nil : Reason(stage: "s", code: "c", message: "m"), sizeBytes: 1,
                sha256: [UInt8](repeating: 0, count: 32), url: index < 2 ? "documents/\(index)" : nil),
              attempt: 1, steps: [], events: []))))
    }
    #expect(try ledger.exchange(request).settled == [.counted, .counted, .counted])
    try store.arrive(ids[0], "first")
    try store.objects.publish(StagedObject(StagedName(ids[0]), path: "documents/0"))
    try store.arrive(ids[1], "second")
    try store.arrive(ids[2], "third")
    try store.arrive("unknown", "fourth")
    #expect(try store.objects.recover(ledger).isEmpty)
    #expect(store.read("documents/0") == "first" && store.read("documents/1") == "second")
    #expect(try store.incoming.isEmpty)
    #expect(
      try FileManager.default.subpathsOfDirectory(atPath: store.home.storePath).filter { $0.hasPrefix("doc") }
        .count == 3)
    #expect(try store.objects.recover(ledger).isEmpty)
    #expect(store.read("documents/1") == "second")
  }

  /// Two attachments share an object. A power loss has taken back that it got its path, under the name of the one that was deleted.
  @Test func theObjectOfADeletedAttachmentIsKeptForAnother() throws {
    let store = try Store()
    let ledger = try SQLiteLedger(store.home)
    let hash = try SHA256()
    hash.begin()
    Array("shared".utf8).withUnsafeBytes { hash.add($0) }
    let sha256 = hash.finish()
    var request = Exchange(number: 1)
    let items = ["a", "b"].map { name in
      IntakeItem(
        conversationId: "c", messageId: nil, senderId: "ann", participants: [], fileName: name,
        source: Array("/in/\(name)".utf8), sourceSize: 6, sourceModified: 1, origin: "")
    }
    request.commands = [.takeIn(items)]
    request.wanted = [Want(.attachments, 2)]
    let leases = try ledger.exchange(request).leases
    request = Exchange(number: 2)
    var ids: [String] = []
    for lease in leases {
      guard case .attachment(let attachment) = lease.work else { continue }
      ids.append(attachment.origin.id)
      request.settlements.append(
        Settlement(
          lease,
          .attachment(
            EndedAttachment(
              attachment,
              AttachmentOutcome(.completed, sizeBytes: 6, sha256: sha256, url: "objects/shared"),
              attempt: 1, steps: [], events: []))))
    }
    try #require(ids.count == 2)
    #expect(try ledger.exchange(request).settled == [.counted, .counted])
    request = Exchange(number: 3)
    request.commands = [.attachment(AttachmentCommand(ids[0], .delete(by: "ann")))]
    #expect(try ledger.exchange(request).results == [.done(hasChanged: true)])
    try store.arrive(ids[0], "shared")
    #expect(try store.objects.recover(ledger).isEmpty)
    #expect(store.read("objects/shared") == "shared")
    // Another content of one that was deleted is nobody's.
    try store.arrive(ids[0], "another")
    #expect(try store.objects.recover(ledger).isEmpty)
    #expect(try store.incoming.isEmpty && store.read("objects/shared") == "shared")
  }

  @Test func aStoreWithoutIncomingNeedsNoRecovery() throws {
    let store = try Store()
    try FileManager.default.removeItem(atPath: store.home.storePath + "/.incoming")
    #expect(try store.objects.recover(try SQLiteLedger(path: ":memory:")).isEmpty)
  }
}
