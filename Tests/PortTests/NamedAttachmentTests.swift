import Foundation
import LedgerPort
import Pipeline
import Platform
import Testing

/// Attachments that a new message names.
struct NamedAttachmentTests {
  /// A group of Ann, Ben and Eve.
  private func bench(_ engine: Engine) throws -> Bench {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben", "eve"])
    return bench
  }

  private func write(
    _ bench: Bench, _ sender: String, _ client: String, _ named: NamedAttachments
  ) throws -> ConversationResult {
    try bench.say(
      .user(sender), "g", .write(id: "m-\(client)", clientId: client, text: nil, named))
  }

  /// The visible attachments of a message.
  private func attachments(_ bench: Bench, _ result: ConversationResult) throws -> [AttachmentRecord] {
    guard case .written(let message, true) = result else {
      Issue.record("\(result)")
      return []
    }
    return try bench.reader.attachments(ofMessages: [message.id], in: "g", seenBy: nil)[message.id] ?? []
  }

  /// Takes in an attachment of a user that belongs to no conversation.
  private func own(_ bench: Bench, _ name: String, of user: String) throws -> AttachmentRecord {
    var item = Sample.item(name, sender: user)
    (item.conversationId, item.participants, item.isOfUser) = ("default", [user], true)
    try bench.takeIn(item)
    return try bench.attachment(name)
  }

  private func complete(_ bench: Bench) throws {
    let lease = try bench.claimOne()
    #expect(try bench.settle(lease, Sample.ended(lease)) == .counted)
  }

  @Test(arguments: Engine.allCases) func anOwnAttachmentMovesWhileItIsChecked(engine: Engine) throws {
    let bench = try bench(engine)
    let own = try own(bench, "a", of: "ann")
    let lease = try bench.claimOne()
    let moved = try attachments(bench, write(bench, "ann", "c", NamedAttachments(ids: [own.origin.id])))
    #expect(moved.map(\.origin.id) == [own.origin.id] && moved.first?.outcome.status == .queued)
    #expect(try bench.reader.participants(of: own.key) == ["ann", "ben", "eve"])
    #expect(try bench.reader.message(own.origin.messageId, of: "default") == nil, "nothing is left of it")
    // The attempt that was under way ends as the attachment of the message.
    let before = try bench.reader.position().number
    #expect(try bench.settle(lease, Sample.ended(lease)) == .counted)
    let change = try #require(try bench.reader.changes(in: "g", at: before + 1))
    #expect(change.messages.map(\.id) == ["m-c"])
    #expect(try bench.attachment("a").outcome.status == .completed)
  }

  @Test(arguments: Engine.allCases) func anotherMessagesAttachmentIsForwarded(engine: Engine) throws {
    let bench = try bench(engine)
    try bench.takeIn(Sample.item("a", message: "m", sender: "ben"))
    try complete(bench)
    let source = try bench.attachment("a")
    let counted = try bench.count(.completed)
    let copies = try attachments(
      bench, write(bench, "ann", "c", NamedAttachments(ids: [source.origin.id, source.origin.id])))
    let copy = try #require(copies.first)
    #expect(copies.count == 1 && copy.origin.id != source.origin.id)
    #expect(copy.outcome == source.outcome && copy.origin.senderId == "ann")
    #expect(copy.sourceName == "attachment \(source.origin.id)")
    #expect(try bench.count(.completed) == counted + 1 && bench.count(.queued) == 0)
    #expect(try bench.reader.participants(of: copy.key) == ["ann", "ben", "eve"])
    // Each is deleted for itself; the object goes with the last.
    try bench.command(.attachment(AttachmentCommand(source.origin.id, .delete(by: "ben"))))
    #expect(try bench.exchange { $0.deletedObjects = ["none"] }.objectsToDelete.isEmpty)
    let deletion = ConversationCommand("g", .user("ann"), .delete(1))
    let reply = try bench.exchange { $0.commands = [.conversation(deletion)] }
    #expect(reply.deletedAttachments == [copy.origin.id])
    #expect(reply.objectsToDelete == [try #require(source.outcome.url)])
  }

  @Test(arguments: Engine.allCases) func anUploadArrivesInTheMessageThatNamedIt(engine: Engine) throws {
    let bench = try bench(engine)
    let upload = UploadRecord(
      id: "u", owner: "ann", role: .user, length: 3, metadata: "", createdAt: 0, expiresAt: 9999)
    try bench.command(.upload(.begin(upload)))
    let named = NamedAttachments(uploads: ["u"])
    #expect(try attachments(bench, write(bench, "ann", "c", named)).isEmpty)
    #expect(try bench.reader.uploads(ofMessages: ["m-c"], in: "g", at: 0)["m-c"]?.map(\.id) == ["u"])
    #expect(
      try write(bench, "ann", "d", named) == .refused(.conflict("the upload 'u' belongs to another message")))
    var item = Sample.item("a", sender: "ann")
    (item.conversationId, item.participants, item.isOfUser) = ("default", ["ann"], true)
    try bench.command(.upload(.finish(id: "u", item)))
    let origin = try bench.attachment("a").origin
    #expect(origin.conversationId == "g" && origin.messageId == "m-c")
    #expect(try bench.reader.uploads(ofMessages: ["m-c"], in: "g", at: 0).isEmpty)
    // An upload that is whole is an attachment already.
    try bench.command(
      .upload(
        .begin(
          UploadRecord(
            id: "v", owner: "ann", role: .user, length: 3, metadata: "", createdAt: 0, expiresAt: 9999))))
    (item.fileName, item.source) = ("b", Array("/b".utf8))
    try bench.command(.upload(.finish(id: "v", item)))
    let moved = try attachments(bench, write(bench, "ann", "e", NamedAttachments(uploads: ["v"])))
    #expect(moved.map(\.origin.fileName) == ["b"])
  }

  /// The message changes where an upload is given up, so that nobody waits for it.
  @Test(arguments: Engine.allCases) func anUploadThatIsGivenUpChangesItsMessage(engine: Engine) throws {
    let bench = try bench(engine)
    let upload = UploadRecord(
      id: "u", owner: "ann", role: .user, length: 3, metadata: "", createdAt: 0, expiresAt: 9999)
    try bench.command(.upload(.begin(upload)))
    _ = try write(bench, "ann", "c", NamedAttachments(uploads: ["u"]))
    let before = try bench.reader.position().number
    try bench.command(.upload(.giveUp(id: "u")))
    #expect(try bench.reader.changes(in: "g", at: before + 1)?.messages.map(\.id) == ["m-c"])
  }

  @Test(arguments: Engine.allCases) func aLinkIsFetchedForTheMessage(engine: Engine) throws {
    let bench = try bench(engine)
    var item = Sample.item("a.pdf", sender: "eve")
    (item.source, item.url) = ([], "https://a.example.com/a.pdf")
    let written = try attachments(bench, write(bench, "ann", "c", NamedAttachments(links: [item])))
    #expect(written.map(\.origin.senderId) == ["ann"] && written.map(\.origin.conversationId) == ["g"])
    #expect(written.first?.outcome.status == .queued)
  }

  /// All or nothing: a refused message leaves no trace.
  @Test(arguments: Engine.allCases) func whatCannotBeNamedRefusesTheMessage(engine: Engine) throws {
    let bench = try bench(engine)
    let good = try own(bench, "good", of: "ann")
    try complete(bench)
    try bench.takeIn(Sample.item("waits", message: "m", sender: "ben"))
    let waits = try bench.attachment("waits").origin.id
    let position = try bench.reader.position()
    let cases: [NamedAttachments] = [
      NamedAttachments(ids: [good.origin.id, "none"]), NamedAttachments(ids: [good.origin.id, waits]),
      NamedAttachments(ids: [good.origin.id], uploads: ["none"]),
      NamedAttachments(ids: [good.origin.id], refusal: .conflict("no")),
      NamedAttachments(ids: Array(repeating: good.origin.id, count: 101)),
    ]
    for named in cases {
      guard case .refused = try write(bench, "ann", "c", named) else {
        Issue.record("\(named) is refused")
        continue
      }
    }
    #expect(try bench.reader.position() == position)
    #expect(try bench.attachment("good").origin.conversationId == "default")
    // A repeated message is answered, whatever it names now.
    let message = try bench.write("g", "ann", "c", "x")
    #expect(try write(bench, "ann", "c", cases[3]) == .written(message, isNew: false))
    // An attachment that was rejected has no content.
    let lease = try bench.claimOne()
    #expect(
      try bench.settle(
        lease,
        Sample.ended(lease) { $0.outcome = AttachmentOutcome(.rejected, reason: Sample.reason) }) == .counted)
    guard case .refused(.conflict) = try write(bench, "ann", "d", NamedAttachments(ids: [waits])) else {
      return #expect(Bool(false), "it is refused")
    }
  }

  /// The attachment of another is forwarded, and one with others beside it does not leave them.
  @Test(arguments: Engine.allCases) func onlyAnOwnAttachmentThatStandsAloneMoves(engine: Engine) throws {
    let bench = try bench(engine)
    let other = try own(bench, "a", of: "ben")
    try complete(bench)
    _ = try attachments(bench, write(bench, "ann", "c", NamedAttachments(ids: [other.origin.id])))
    #expect(try bench.reader.participants(of: other.key) == ["ben"])
    for name in ["b", "c"] {
      var item = Sample.item(name, message: "mine")
      (item.conversationId, item.participants, item.isOfUser) = ("default", ["ann"], true)
      try bench.takeIn(item)
      try complete(bench)
    }
    let pair = try bench.attachment("b")
    let copies = try attachments(bench, write(bench, "ann", "d", NamedAttachments(ids: [pair.origin.id])))
    #expect(copies.map(\.origin.id) != [pair.origin.id] && copies.count == 1)
    #expect(try bench.reader.message("mine", of: "default") != nil)
  }

  /// An attempt that was under way as its attachment moved.
  @Test(arguments: Engine.allCases) func whatIsTakenOutOfAMovedAttachmentFollowsIt(engine: Engine) throws {
    let bench = try bench(engine)
    let own = try own(bench, "a", of: "ann")
    let lease = try bench.claimOne()
    _ = try write(bench, "ann", "c", NamedAttachments(ids: [own.origin.id]))
    let ending = Sample.ended(lease) {
      $0.children = [
        NewChild(
          uploadId: "u", source: Array("/uploads/u".utf8), sizeBytes: 3, sha256: Sample.content(9),
          modified: 5,
          fileName: "child", declaredType: nil)
      ]
    }
    #expect(try bench.settle(lease, ending) == .counted)
    let child = try bench.attachment("child")
    #expect(child.origin.conversationId == "g" && child.origin.messageId == "m-c")
    #expect(try bench.reader.participants(of: child.key) == ["ann", "ben", "eve"])
  }

  @Test(arguments: Engine.allCases) func theTextOfAMovedAttachmentIsSearched(engine: Engine) throws {
    let bench = try bench(engine)
    let own = try own(bench, "a", of: "ann")
    let lease = try bench.claimOne()
    let text = DerivedObject(
      name: "text", stage: "text", mediaType: "text/plain", sizeBytes: 3, sha256: Sample.content(7),
      url: "derived/7")
    let ending = Sample.ended(lease) {
      $0.outcome.derived = [text]
      ($0.texts, $0.stagedDerived) = ([ContentText(sha256: text.sha256, "a quokka".utf8)], ["text"])
    }
    #expect(try bench.settle(lease, ending) == .counted)
    func found() throws -> Int {
      try bench.reader.search(SearchQuery("quokka", now: 0), for: "ben", after: nil, limit: 9).rows.count
    }
    #expect(try found() == 0)
    _ = try write(bench, "ann", "c", NamedAttachments(ids: [own.origin.id]))
    #expect(try found() == 1)
    let moved = try bench.attachment("a").origin.id
    _ = try write(bench, "ben", "d", NamedAttachments(ids: [moved]))
    #expect(try found() == 2, "the forwarded copy is found, too")
  }

  /// Nobody waits for an upload of a deleted message.
  @Test(arguments: Engine.allCases) func theUploadsOfADeletedMessageAreGivenUp(engine: Engine) throws {
    let bench = try bench(engine)
    var upload = UploadRecord(
      id: "u", owner: "shop", role: .service, length: 3, metadata: "", createdAt: 0, expiresAt: 9999,
      forUser: "ann")
    try bench.command(.upload(.begin(upload)))
    upload.id = "v"
    try bench.command(.upload(.begin(upload)))
    _ = try write(bench, "ann", "c", NamedAttachments(uploads: ["u"]))
    #expect(
      try bench.reader.openUploads(of: UploadOwner("ann", .user), at: 0, after: nil, limit: 9).rows.count == 2
    )
    let deletion = ConversationCommand("g", .user("ann"), .delete(1))
    #expect(try bench.exchange { $0.commands = [.conversation(deletion)] }.uploadsToDelete == ["u"])
    #expect(try bench.reader.uploads(ofMessages: ["m-c"], in: "g", at: 0).isEmpty)
  }

  /// A client shows one word.
  @Test func aMessageWithARefusedAttachmentHasFailed() throws {
    let bench = try bench(.model)
    let message = try bench.write("g", "ann", "c", "x")
    try bench.takeIn(Sample.item("a"))
    var record = try bench.attachment("a")
    func status(_ users: [String], _ statuses: [Status]) throws -> String {
      for user in users { _ = try bench.say(.user(user), "g", .reach(delivered: 1, read: 0)) }
      let members = try bench.reader.membership(of: "g", for: nil)?.members
      let attachments = statuses.map {
        record.outcome.status = $0
        return record
      }
      var writer = JSONWriter()
      writer.object { message.write(to: &$0, members: members, attachments: attachments) }
      let rest = try #require(writer.text.components(separatedBy: #","status":""#).last)
      return String(rest.prefix { $0 != "\"" })
    }
    #expect(try status([], []) == "sent" && status([], [.queued, .completed]) == "sent")
    #expect(try status(["ben"], []) == "sent" && status(["eve"], []) == "delivered")
    for refused in [Status.rejected, .failed, .quarantined, .cancelled] {
      #expect(try status([], [.completed, refused]) == "failed")
    }
    for user in ["ben", "eve"] { _ = try bench.say(.user(user), "g", .reach(delivered: 1, read: 1)) }
    #expect(try status([], []) == "read")
  }
}
