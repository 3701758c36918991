import LedgerPort
import Testing

/// Files that clients send piece by piece.
struct UploadTests {
  private static let id = "0123456789abcdef0123456789abcdef"
  private static let changed = [CommandResult.done(hasChanged: true)]
  private static let unchanged = [CommandResult.done(hasChanged: false)]

  private func begin(_ bench: Bench, length: Int64? = 5) throws {
    let record = UploadRecord(
      id: Self.id, owner: "ann", role: .user, length: length, metadata: "filename YQ==", createdAt: 0,
      expiresAt: 1000)
    #expect(try bench.command(.upload(.begin(record))) == Self.changed)
  }

  @Test(arguments: Engine.allCases) func anUploadBecomesOneAttachmentHoweverOftenItIsFinished(engine: Engine)
    throws
  {
    let bench = try Bench(engine)
    let start = bench.time.now
    try begin(bench)
    let record = try #require(try bench.reader.upload(Self.id))
    #expect(record.createdAt == start && record.expiresAt == start + 1000 && record.attachmentId == nil)
    let finish = Command.upload(.finish(id: Self.id, Sample.item("a")))
    guard case .takenIn(let report)? = try bench.command(finish).first,
      case .added(let id)? = report.outcomes.first
    else { return #expect(Bool(false), "it is taken in") }
    #expect(try bench.reader.upload(Self.id)?.attachmentId == id)
    // Another file by now, as far as its time tells.
    var changed = Sample.item("a")
    changed.sourceModified += 1
    guard case .takenIn(let again)? = try bench.command(.upload(.finish(id: Self.id, changed))).first else {
      return #expect(Bool(false), "it is known")
    }
    #expect(again.outcomes == [.known(id: id)] && again.added == 0)
    #expect(try bench.reader.attachments(AttachmentFilter(), after: nil, limit: 9).rows.count == 1)
  }

  /// All in one exchange, as many requests at once may come to the ledger.
  @Test(arguments: Engine.allCases) func anOwnerHasNoMoreThanAreAllowed(engine: Engine) throws {
    let bench = try Bench(engine)
    func upload(_ id: String, _ owner: String, _ role: AccessToken.Role = .user) -> UploadRecord {
      UploadRecord(id: id, owner: owner, role: role, length: 5, metadata: "", createdAt: 0, expiresAt: 1000)
    }
    let results = try bench.exchange {
      $0.commands =
        (1...9).map { .upload(.begin(upload("\($0)", "ann"), atMost: 2)) }
        + [.upload(.begin(upload("b", "ben"), atMost: 2)), .upload(.begin(upload("s", "ann", .service)))]
        + [.upload(.end(id: "1")), .upload(.begin(upload("x", "ann"), atMost: 2))]
    }.results
    let refused = CommandResult.refused("there are 2 uploads of this owner's that are not whole")
    #expect(
      results == Self.changed + Self.changed + Array(repeating: refused, count: 7)
        + Array(repeating: Self.changed[0], count: 4))
    let (ann, now) = (UploadOwner("ann", .user), bench.time.now)
    #expect(try bench.reader.openUploads(of: ann, at: now) == 2)
    #expect(try bench.reader.openUploads(of: nil, at: now) == 4)
    #expect(
      try bench.reader.openUploads(of: ann, at: now, after: nil, limit: 9).rows.map(\.id) == ["2", "x"])
    let page = try bench.reader.openUploads(of: nil, at: now, after: nil, limit: 3)
    #expect(page.rows.map(\.id) == ["2", "b", "s"])
    #expect(
      try bench.reader.openUploads(of: nil, at: now, after: page.next, limit: 3).rows.map(\.id) == ["x"])
    #expect(try bench.reader.openUploads(of: nil, at: now + 1000, after: nil, limit: 3).rows.isEmpty)
  }

  @Test(arguments: Engine.allCases) func aLengthIsSaidOnce(engine: Engine) throws {
    let bench = try Bench(engine)
    try begin(bench, length: nil)
    #expect(try bench.command(.upload(.lengthen(id: Self.id, 7))) == Self.changed)
    #expect(try bench.command(.upload(.lengthen(id: Self.id, 7))) == Self.unchanged)
    guard case .refused? = try bench.command(.upload(.lengthen(id: Self.id, 8))).first else {
      return #expect(Bool(false), "it has another length")
    }
    #expect(try bench.reader.upload(Self.id)?.length == 7)
  }

  @Test(arguments: Engine.allCases) func itsFileGoesWithItOrWithItsAttachment(engine: Engine) throws {
    let bench = try Bench(engine)
    for command in [UploadCommand.end(id: Self.id), .giveUp(id: Self.id)] {
      try begin(bench)
      let ended = try bench.exchange { $0.commands = [.upload(command)] }
      #expect(ended.results == Self.changed && ended.uploadsToDelete == [Self.id])
      #expect(try bench.command(.upload(command)) == Self.unchanged)
      #expect(try bench.reader.upload(Self.id) == nil)
    }

    try begin(bench)
    try bench.command(.upload(.finish(id: Self.id, Sample.item("a"))))
    let id = try bench.attachment("a").origin.id
    // It is still to be worked on.
    let early = try bench.exchange { $0.commands = [.upload(.end(id: Self.id))] }
    #expect(early.results == Self.unchanged && early.uploadsToDelete.isEmpty)
    #expect(try bench.reader.upload(Self.id) != nil)
    let givenUp = try bench.exchange { $0.commands = [.upload(.giveUp(id: Self.id))] }
    guard case .takenIn(let report)? = givenUp.results.first else {
      return #expect(Bool(false), "\(givenUp.results)")
    }
    #expect(report.outcomes == [.known(id: id)] && givenUp.uploadsToDelete.isEmpty)
    #expect(try bench.reader.upload(Self.id) != nil)
    let deleted = try bench.exchange {
      $0.commands = [.attachment(AttachmentCommand(id, .delete(by: "ann")))]
    }
    #expect(deleted.uploadsToDelete == [Self.id])
    #expect(try bench.reader.upload(Self.id) == nil)
  }

  @Test(arguments: Engine.allCases) func whatIsNotThereIsRefused(engine: Engine) throws {
    let bench = try Bench(engine)
    for command in [UploadCommand.lengthen(id: "x", 1), .finish(id: "x", Sample.item("a"))] {
      guard case .refused? = try bench.command(.upload(command)).first else {
        return #expect(Bool(false), "\(command)")
      }
    }
    try begin(bench)
    let record = try #require(try bench.reader.upload(Self.id))
    guard case .refused? = try bench.command(.upload(.begin(record))).first else {
      return #expect(Bool(false), "it is there")
    }
    #expect(try bench.reader.uploads(after: nil, limit: 9).rows == [record])
  }
}
