import Pipeline
import Testing
import Wire

struct ProgramLineTests {
  private static func read(_ line: String) throws(ProgramLine.Flaw) -> [ProgramLine.Statement] {
    try ProgramLine.read(Array(line.utf8))
  }

  static let good: [(String, [ProgramLine.Statement])] = [
    ("{}", []),
    (#"{"ready":true}"#, [.ready]),
    (#"{"repeatable":"list 7"}"#, [.repeatable("list 7")]),
    (#"{"refuse":"no list"}"#, [.refuse("no list")]),
    (
      #"{"annotate":{"a":"t","b":1,"c":0.5,"d":false}}"#,
      [
        .annotate(key: "a", .text("t")), .annotate(key: "b", .integer(1)), .annotate(key: "c", .number(0.5)),
        .annotate(key: "d", .boolean(false)),
      ]
    ),
    (#"{"mediaType":"text/plain"}"#, [.mediaType("text/plain")]),
    (#"{"produce":true}"#, [.produce]),
    (
      #"{"verdict":"pass","bytes":3,"type":"text/plain","derive":"text"}"#,
      [
        .derive(name: "text", mediaType: "text/plain", bytes: 3),
        .verdict(.pass, code: nil, message: nil),
      ]
    ),
    (#"{"child":"","bytes":0}"#, [.child(name: "", mediaType: nil, bytes: 0)]),
    (
      #"{"child":"a/b.txt","type":"text/plain","bytes":5}"#,
      [.child(name: "a/b.txt", mediaType: "text/plain", bytes: 5)]
    ),
    (#"{"log":"so"}"#, [.log(.info, "so")]),
    (#"{"log":"so","level":"warning"}"#, [.log(.warning, "so")]),
    (#"{"level":"error","log":"so"}"#, [.log(.error, "so")]),
    (#"{"progress":0.25}"#, [.progress(0.25)]), (#"{"progress":1}"#, [.progress(1)]),
    (#"{"retryAfter":1500}"#, [.retryAfter(1500)]), (#"{"pause":true}"#, [.pause]),
    (#"{"verdict":"pass"}"#, [.verdict(.pass, code: nil, message: nil)]),
    (
      #"{"message":"m","code":"c","verdict":"reject","annotate":{"k":1}}"#,
      [.annotate(key: "k", .integer(1)), .verdict(.reject, code: "c", message: "m")]
    ),
    (#"{"verdict":"retry","retryAfter":5}"#, [.retryAfter(5), .verdict(.retry, code: nil, message: nil)]),
  ]

  @Test(arguments: good)
  func eachMemberIsTaken(line: String, statements: [ProgramLine.Statement]) throws {
    #expect(try Self.read(line) == statements)
  }

  /// Where the author of a program finds what was printed for people.
  private static let freeText = " (text for people goes to standard error, or under 'log')"

  static let bad: [(String, String)] = [
    ("", "a line that is not JSON\(freeText): "), ("hello", "a line that is not JSON\(freeText): hello"),
    ("{\"verdict\":", "a line that is not JSON\(freeText): {\"verdict\":"),
    (#"{"verdict":"pass","verdict":"pass"}"#, "a line that is not JSON"),
    ("[]", "an array in place of an object\(freeText)"), ("null", "null in place of an object"),
    ("3", "a number in place of an object"),
    (#"{"verdcit":"pass"}"#, "a member 'verdcit', where there are annotate, bytes, child, code, "),
    (#"{"ready":false}"#, "a boolean as 'ready', which is true"),
    (#"{"ready":1}"#, "a number as 'ready', which is true"),
    (#"{"repeatable":true}"#, "a boolean as 'repeatable', which is a text"),
    (#"{"refuse":null}"#, "null as 'refuse', which is a text"),
    (#"{"annotate":[]}"#, "an array as 'annotate', which is an object"),
    (#"{"annotate":{"k":null}}"#, "null as 'k' under 'annotate'"),
    (#"{"annotate":{"k":{}}}"#, "an object as 'k' under 'annotate'"),
    (#"{"mediaType":1}"#, "a number as 'mediaType'"), (#"{"produce":"x"}"#, "a text as 'produce'"),
    (#"{"derive":1}"#, "a number as 'derive', which is a text"),
    (#"{"child":true}"#, "a boolean as 'child', which is a text"),
    (#"{"derive":"a","type":"x/y","bytes":"3"}"#, "a text as 'bytes', which is a whole number"),
    (#"{"derive":"a","type":"x/y","bytes":1.5}"#, "a number as 'bytes'"),
    (#"{"derive":"a","type":"x/y","bytes":-1}"#, "-1 as 'bytes', which is at least 0"),
    (#"{"derive":"a","bytes":3}"#, "'derive' without 'type'"),
    (#"{"derive":"a","type":"x/y"}"#, "'derive' without 'bytes'"),
    (#"{"child":"a","type":"x/y"}"#, "'child' without 'bytes'"),
    (#"{"derive":"a","child":"b","type":"x/y","bytes":3}"#, "'derive' and 'child' in one line"),
    (#"{"type":"x/y"}"#, "'type' without"), (#"{"bytes":3}"#, "'bytes' without"),
    (#"{"derive":"a\u0000","type":"x/y","bytes":3}"#, "a text with a NUL character under 'derive'"),
    (#"{"log":1}"#, "a number as 'log'"), (#"{"log":"x","level":"loud"}"#, "the level 'loud'"),
    (#"{"progress":"half"}"#, "a text as 'progress'"), (#"{"retryAfter":1.5}"#, "a number as 'retryAfter'"),
    (#"{"pause":false}"#, "a boolean as 'pause'"),
    (#"{"verdict":"ok"}"#, "the verdict 'ok', where there are"),
    (#"{"code":1}"#, "a number as 'code'"), (#"{"message":[]}"#, "an array as 'message'"),
    (#"{"message":"a\u0000b"}"#, "a text with a NUL character under 'message'"),
    (#"{"annotate":{"a\u0000":1}}"#, "a text with a NUL character under 'annotate'"),
    ("\u{1B}[31m", "a line that is not JSON\(freeText): \u{FFFD}[31m"),
    ("a\u{202E}b", "a line that is not JSON\(freeText): a\u{FFFD}b"),
  ]

  @Test(arguments: bad)
  func whatIsWrongIsSaid(line: String, reason: String) {
    do {
      Issue.record("\(try Self.read(line))")
    } catch {
      #expect(error.reason.hasPrefix(reason), "\(error.reason)")
    }
  }

  @Test func ofALongLineTheBeginningIsShown() {
    #expect(throws: ProgramLine.Flaw.self) { try Self.read(String(repeating: "x", count: 1000)) }
    do {
      _ = try Self.read(String(repeating: "x", count: 1000))
    } catch {
      #expect(error.reason.utf8.count < 200)
    }
  }

  // MARK: Frames

  @Test(arguments: [
    ProgramFault.exited(3), .crashed(signal: 11), .outputLimit,
    .invalidReply("a line that is not JSON: \u{FFFD}"),
  ])
  func aFaultIsReadAsItWasWritten(fault: ProgramFault) throws {
    var reader = try fault.frame.withUnsafeBytes { bytes throws in
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
      copy.copyMemory(from: bytes)
      return FrameReader(UnsafeRawBufferPointer(copy))
    }
    #expect(try reader.kind() == .fault)
    #expect(try ProgramFault(&reader) == fault)
  }

  @Test func theSetupOfAProgramIsReadAsItWasWritten() throws {
    var program = Program(command: ["python3", "check.py", ""], folder: "/stages/check")
    program.reads = [".", "/srv/lists"]
    program.processes = 8
    program.maxContent = 5_000_000_000
    var description = StageDescription(
      id: "check", version: "1.2", summary: "", file: "/stages/check/stage.yaml")
    description.program = program
    description.produces = true
    description.options = [OptionDescription(name: "most", kind: .integer, shapes: [.one, .list], help: "")]
    description.keys = [.init(name: "check.lines", help: "")]
    description.codes = [.init(name: "too-long", help: "")]
    var stage = StageDefinition(
      id: "first", description: description, values: [OptionValue(name: "most", text: "3", integer: 3)])
    stage.output = 12345
    let setup = Setup(stages: [stage], sandbox: .require, capability: .content, output: 12345)
    let frame = setup.frame
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: frame.count, alignment: 8)
    defer { copy.deallocate() }
    copy.copyBytes(from: frame)
    var reader = FrameReader(UnsafeRawBufferPointer(copy))
    #expect(try reader.kind() == .setup)
    let read = try #require(try Setup(&reader).stages.first)
    #expect(read.description.program == program)
    #expect(
      read.description
        == {
          var known = description; known.version = "1.2"; return known
        }())
    #expect(read.output == 12345)
    #expect(read.values == stage.values)
  }
}
