import Foundation
import Testing

/// A program of another language as a stage: what it is told, what it may say, and what becomes of that.
@Suite(.serialized)
struct ProgramTests {
  private func completed(_ act: String, settings: [String] = [], processes: Int = 1) throws
    -> Printed.Attachment
  {
    let inbox = try ActsProgram.inbox(processes: processes, settings: settings)
    try inbox.add("a", act)
    let run = try inbox.run()
    let record = try run.record("a")
    #expect(record.isCompleted, "\(record)")
    try inbox.checkWhole(run)
    return record
  }

  // MARK: What it says

  @Test func whatItAnnotatesIsRecorded() throws {
    let record = try completed(
      """
      say(log='it begins', level='debug')
      say(progress=0.5)
      say(annotate={'acts.text': 'ä "b"', 'acts.number': -3})
      say(annotate={'acts.flag': True, 'acts.share': 0.25}, mediaType='text/x-mine', verdict='pass')
      """)
    #expect(record.metadata["acts.text"] == "ä \"b\"")
    #expect(record.metadata["acts.number"] == -3)
    #expect(record.metadata["acts.flag"] == true)
    #expect(record.metadata["acts.share"] == 0.25)
    #expect(record.mediaType == "text/x-mine")
  }

  /// A type that is none would tell later stages nothing: it is dropped, and the operator sees so.
  @Test func aMediaTypeThatIsNoneIsDroppedAndTold() throws {
    let inbox = try ActsProgram.inbox()
    try inbox.add("a", "say(mediaType='a picture', verdict='pass')")
    let run = try inbox.run()
    let record = try run.record("a")
    #expect(record.isCompleted && record.mediaType != "a picture", "\(record)")
    let logged = try run.outcome.out.split(separator: "\n").map { try JSON(String($0)) }
      .filter { $0["record"].text == "log" }
    #expect(logged.map { $0["level"].text } == ["warning"], "\(run.outcome.out)")
    #expect(logged.first?["attachmentId"].text == record.id && logged.first?["stage"].text == "acts")
    #expect(logged.first?["text"].text == "sets the media type 'a picture', which is none; dropped")
  }

  @Test func itsVerdictsCount() throws {
    let inbox = try ActsProgram.inbox()
    try inbox.add("rejected", "say(verdict='reject', code='bad', message='three are too many')")
    try inbox.add("failed", "say(verdict='fail', message='it cannot be')")
    try inbox.add(
      "retried",
      "say(verdict='pass') if attachment['attempt'] == 2 else say(retryAfter=20, verdict='retry', code='later')"
    )
    try inbox.add("never", "say(verdict='retry', code='later', message='not today')")
    let run = try inbox.run()
    let rejected = try run.record("rejected")
    #expect((rejected.status, rejected.code, rejected.message) == ("rejected", "bad", "three are too many"))
    #expect(try run.record("failed").status == "failed")
    #expect(try run.record("retried").isCompleted)
    let never = try run.record("never")
    #expect((never.status, never.code) == ("failed", "later"))
    try inbox.checkWhole(run)
  }

  @Test(arguments: [
    "os.write(4, b'the new words')", "open('/proc/self/fd/4', 'wb').write(b'the new words')",
    "os.write(4, b'x' * 100); os.ftruncate(4, 0); os.lseek(4, 0, 0); os.write(4, b'the new words')",
  ])
  func theContentThatItMakesIsStored(act: String) throws {
    let inbox = try ActsProgram.inbox()
    try inbox.add("a", "\(act)\nsay(produce=True, verdict='pass')")
    // What is left there from before is no content of the next.
    try inbox.add("b", "say(produce=True, verdict='pass')")
    try inbox.add("c", "os.write(4, b'in vain'); say(verdict='pass')")
    let run = try inbox.run()
    let sizes = try ["a", "b"].map { try run.record($0).sizeBytes }
    #expect(sizes == [13, 0], "\(run.outcome.out)")
    let url = try #require(try run.record("a").url)
    #expect(try inbox.folder.read("home/store/\(url)") == "the new words")
    #expect(try run.record("c").sizeBytes != 7)
    try inbox.checkWhole(run)
  }

  @Test func aFaultOfThePlacePausesIt() throws {
    let inbox = try ActsProgram.inbox()
    try inbox.add(
      "a",
      "say(verdict='pass') if attachment['attempt'] == 2 else say(pause=True, retryAfter=50, verdict='retry')"
    )
    let run = try inbox.run()
    #expect(try run.record("a").isCompleted, "\(run.outcome.out)\(run.outcome.err)")
  }

  // MARK: What it is told

  @Test func itIsToldItsOptionsByTheirTypes() throws {
    let told = try completed(
      "say(annotate={'acts.text': json.dumps(setup, sort_keys=True)}, verdict='pass')",
      settings: [
        "options:", "  number: -4", "  words: [one, two]", "  strict: false", "  types: image/*",
        "  limit: 2KB",
      ]
    ).metadata["acts.text"]
    #expect(
      told?.asText
        == #"{"options": {"limit": 2048, "number": -4, "share": 0.5, "start": "", "strict": false, "types": ["image/*"], "#
        + #""wait": 2000, "words": ["one", "two"]}, "sluice": 1, "stage": "acts"}"#)
  }

  @Test func itIsToldWhatIsKnownOfTheAttachment() throws {
    let told =
      try completed(
        """
        del attachment['id'], attachment['sha256']
        say(annotate={'acts.text': json.dumps(attachment, sort_keys=True)}, verdict='pass')
        """
      ).metadata["acts.text"]?.asText ?? ""
    for part in [
      #""attempt": 1"#, #""content": "/proc/self/fd/3""#, #""fileName": "a""#, #""mediaType": "text/"#,
      #""senderId": "ann""#, #""size": "#, #""metadata": {"#, #""conversationId": "#,
    ] {
      #expect(told.contains(part), "\(told)")
    }
  }

  /// From its beginning each time, by its path and by its number.
  @Test func theContentIsWholeAndItsOwn() throws {
    let inbox = try ActsProgram.inbox()
    let act = """
      first = open(attachment['content'], 'rb').read()
      second = os.read(3, 1 << 20)
      os.lseek(3, 0, 0)
      assert first == second == os.read(3, 1 << 20) and len(first) == attachment['size'], first
      say(verdict='pass')
      """
    for number in 0..<20 {
      try inbox.add("a-\(number)", act + String(repeating: "\n# x", count: number * 50))
    }
    let run = try inbox.run()
    #expect(run.outcome.attachments.allSatisfy { $0.isCompleted }, "\(run.outcome.out)")
    try inbox.checkWhole(run)
  }

  @Test func itHasNothingOfTheCoordinatorsEnvironment() throws {
    let inbox = try ActsProgram.inbox()
    try inbox.add(
      "a", "say(annotate={'acts.text': ' '.join(sorted(os.environ))}, verdict='pass')")
    let run = try inbox.run(environment: ["TOKEN": "secret"])
    #expect(
      try run.record("a").metadata["acts.text"]
        == "HOME LANG LC_CTYPE PATH PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED SLUICE_STAGE TZ"
        || run.record("a").metadata["acts.text"]
          == "HOME LANG PATH PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED SLUICE_STAGE TZ"
    )
  }

  @Test func itHasNoDescriptorsButItsOwn() throws {
    let record = try completed(
      """
      found = []
      for number in range(64):
          try: os.fstat(number); found.append(number)
          except OSError: pass
      say(annotate={'acts.text': str(found)}, verdict='pass')
      """)
    #expect(record.metadata["acts.text"] == "[0, 1, 2, 3, 4]")
  }

  // MARK: Settings of the stage

  @Test func itIsAskedOnlyWhereItIsWanted() throws {
    let inbox = try ActsProgram.inbox(settings: ["when: image/*"])
    try inbox.add("a", "say(verdict='reject', code='bad')")
    #expect(try inbox.run().record("a").isCompleted)
  }

  @Test(arguments: [("worker", [11, 12, 13]), ("fresh", [11, 11, 11])])
  func isolationDecidesHowLongItLives(isolation: String, counts: [Int]) throws {
    let inbox = try ActsProgram.inbox(settings: ["isolation: \(isolation)"], more: "workers: 1")
    for name in ["a", "b", "c"] {
      try inbox.add(
        name,
        "turns = globals().get('turns', 10) + 1; say(annotate={'acts.number': turns}, verdict='pass') # \(name)"
      )
    }
    let run = try inbox.run()
    #expect(
      try ["a", "b", "c"].map { try run.record($0).metadata["acts.number"]?.asInteger } == counts,
      "\(run.outcome.out)")
    try inbox.checkWhole(run)
  }

  @Test func contentAboveItsLimitIsTooLarge() throws {
    let folder = try TemporaryFolder()
    try ActsProgram.write(to: folder, more: "max-content: 20B")
    try folder.write("file", "say(verdict='pass') # and more")
    let outcome = try SluiceCommand.run(
      ["stages", "run", "./stages/acts", "file", "--format", "json"], in: folder)
    let run = try outcome.only(Printed.StageRun.self)
    #expect((run.verdict, run.code) == ("fail", "too-large"), "\(outcome.out)\(outcome.err)")
    #expect(run.message?.contains("'max-content' gives the program at most 20B") == true)
  }

  @Test(.enabled(if: geteuid() == 0)) func asRootItBecomesNobody() throws {
    let record = try completed("say(annotate={'acts.number': os.getuid()}, verdict='pass')")
    #expect(record.metadata["acts.number"] == 65534)
  }

  // MARK: exec

  /// A relative path begins at the pipeline's file, wherever the command runs.
  @Test(arguments: ["", "elsewhere"])
  func aProgramThatAPipelineNamesIsAsked(below: String) throws {
    let folder = try TemporaryFolder()
    try folder.write("elsewhere/x", "")
    try folder.write("pipes/acts.py", ActsProgram.source)
    try folder.write(
      "pipes/pipeline.yaml",
      Pipelines.storing(
        """
        - use: exec
          id: words
          options: { command: [python3, acts.py], keys: [words.*], codes: long }
        """))
    try folder.write("file", "say(annotate={'words.count': 2, 'words.first': 'one'}, verdict='pass')")
    try folder.write("long", "say(verdict='reject', code='long')")
    let up = below.isEmpty ? "" : "../"
    let outcome = try SluiceCommand.run(
      ["ingest", "--config", up + "pipes/pipeline.yaml", "--format", "json", up + "file", up + "long"],
      in: folder, below: below)
    let records = Dictionary(uniqueKeysWithValues: outcome.attachments.map { ($0.fileName, $0) })
    #expect(records["file"]?.metadata["words.first"] == "one", "\(outcome.out)\(outcome.err)")
    #expect(records["file"]?.metadata["words.count"] == 2)
    #expect(records["long"]?.reason?.stage == "words" && records["long"]?.code == "long")
  }

  @Test func aShellScriptIsAsked() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml",
      Pipelines.storing(
        """
        - use: exec
          id: lines
          options:
            command:
              - sh
              - -c
              - |
                read -r setup; echo '{"ready":true}'
                while read -r line; do
                  printf '{"annotate":{"lines":%d},"verdict":"pass"}\\n' "$$(wc -l <&3)"
                done
            processes: 4
            keys: lines
        """))
    for number in 1...5 { try folder.write("in/\(number)", String(repeating: "x\n", count: number)) }
    let outcome = try SluiceCommand.run(["ingest", "--format", "json", "in"], in: folder)
    #expect(
      outcome.attachments.map { "\($0.fileName) \($0.metadata["lines"]?.asInteger ?? -1)" }.sorted()
        == ["1 1", "2 2", "3 3", "4 4", "5 5"], "\(outcome.out)\(outcome.err)")
  }

  @Test(arguments: [
    ("{}", "option 'command'"), ("{ command: none-such }", "'none-such'"),
    ("{ command: ./none-such }", "'./none-such' cannot be started: No such file"),
  ])
  func aPipelineWhoseProgramCannotBeIsToldByLint(options: String, part: String) throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing("- use: exec\n  options: \(options)"))
    let outcome = try SluiceCommand.run(["lint"], in: folder)
    #expect(outcome.status == 78)
    #expect((outcome.out + outcome.err).contains(part), "\(outcome.out)\(outcome.err)")
  }

  // MARK: Reuse

  /// `n` in hexadecimal is another at each call.
  private static let random = "say(annotate={'acts.text': os.urandom(8).hex()}, verdict='pass')"

  /// What is reused is what the first stages say, and a program has a worker to itself.
  @Test func verdictsAreReusedIfItPromisesAndForTheSameProgramOnly() throws {
    let inbox = try Inbox()
    let program = """
      import json, os, sys
      print(json.dumps({"repeatable": "list 1", "ready": True}), flush=True)
      for line in sys.stdin:
          if "attachment" in json.loads(line):
              print(json.dumps({"annotate": {"first.text": os.urandom(8).hex()}, "verdict": "pass"}), flush=True)

      """
    try inbox.folder.write("first.py", program)
    try inbox.folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: exec
          id: first
          options: { command: [python3, first.py], keys: first.text }
        - use: store
          options: { path: "{attachmentId}" }
        - use: notify
          options: { to: participants, channels: [events] }
      channels:
        events: { use: jsonl, options: { path: events.jsonl } }
      """)
    func said(_ name: String) throws -> Printed.Value? {
      try inbox.add(name, "the same\n")
      return try inbox.run().record(name).metadata["first.text"]
    }
    let first = try said("a")
    #expect(first != nil)
    #expect(try said("b") == first)
    try inbox.folder.write("first.py", program + "# another\n")
    let second = try said("c")
    #expect(second != first)
    #expect(try said("d") == second)
  }

  @Test func withoutAPromiseNothingIsReused() throws {
    let inbox = try ActsProgram.inbox()
    try inbox.add("a", Self.random)
    try inbox.add("b", Self.random)
    let run = try inbox.run()
    #expect(try run.record("a").metadata["acts.text"] != run.record("b").metadata["acts.text"])
  }

  // MARK: Secrets

  @Test(arguments: [
    "raise ValueError(options['secret'])", "put(options['secret'] + chr(10))",
    "say(verdict='reject', code='bad', message=options['secret'])", "say(log=options['secret']); os._exit(1)",
    "put('p' * 40 + options['secret'] * 3 + chr(10))", "sys.exit(options['secret'])",
    "put(json.dumps({options['secret']: 1}) + chr(10))",
  ])
  func aSecretOptionIsShownNowhere(act: String) throws {
    let canary = "CANARY5f3c91d2"
    let inbox = try ActsProgram.inbox(
      settings: ActsProgram.rejecting + ["options: { secret: '${TOKEN}' }"])
    try inbox.add("a", act)
    let run = try inbox.run(environment: ["TOKEN": canary])
    let record = try run.record("a")
    #expect(record.status == "rejected")
    #expect(record.message.contains("«secret»"), "\(record)")
    // Nor is the beginning of one that was cut.
    let beginning = canary.prefix(9)
    #expect(!run.outcome.out.contains(beginning) && !run.outcome.err.contains(beginning), "\(run.outcome)")
    let ledger = try Data(contentsOf: URL(fileURLWithPath: inbox.folder.path + "/home/sluice.db"))
    #expect(ledger.range(of: Data(canary.utf8)) == nil)
  }
}
