import Configuration
import Pipeline
import Testing

/// What a program's `stage.yaml` says, and what is wrong with one that says nothing sensible.
struct StageFileTests {
  private static func read(_ text: String) throws(ConfigurationError) -> StageDescription {
    try StageFile.read(Array(text.utf8), file: "/stages/count/stage.yaml")
  }

  private static let least = "id: count\nversion: 1.0.0\nsummary: Counts.\ncommand: ./count\n"

  @Test func theLeastIsFilledUp() throws {
    let stage = try Self.read(Self.least)
    #expect(
      (stage.id, stage.version, stage.summary, stage.file) == (
        "count", "1.0.0", "Counts.", "/stages/count/stage.yaml"
      ))
    #expect((stage.capability, stage.role, stage.produces) == (.content, .line, false))
    #expect((stage.derives, stage.expands) == (false, false))
    let program = try #require(stage.program)
    #expect((program.command, program.folder, program.reads) == (["./count"], "/stages/count", ["."]))
    #expect((program.processes, program.maxContent) == (1, 100 << 20))
    #expect(stage.codes.map(\.name) == ["too-large"])
    #expect(stage.options == [] && stage.keys == [])
  }

  @Test func everyKeyIsRead() throws {
    let stage = try Self.read(
      """
      id: count
      version: 1.0.0
      summary: Counts.
      command: [python3, count.py, "$HOME"]
      reads: [/srv/lists]
      processes: 4
      max-content: 2MB
      produces: true
      derives: true
      expands: true
      options:
        most: { type: integer, default: 10, minimum: 1, maximum: 99, help: The most. }
        share: { type: number }
        strict: { type: boolean, default: true }
        limit: { type: bytes, default: 1MB }
        wait: { type: duration, default: 2s }
        types: { type: media-type, list: true, default: [text/*, image/png] }
        path: { type: template, required: true }
        mode: { type: text, choices: [fast, safe], default: safe }
        words: { list: true }
      keys:
        count.lines: How many.
        count.found:
      codes: { too-long: It has more. }
      """)
    let program = try #require(stage.program)
    // A `$` has no special meaning here.
    #expect(program.command == ["python3", "count.py", "$HOME"])
    #expect((program.reads, program.processes, program.maxContent) == (["/srv/lists", "."], 4, 2 << 20))
    #expect(stage.produces && stage.derives && stage.expands)
    #expect(
      stage.options.map(\.name) == [
        "most", "share", "strict", "limit", "wait", "types", "path", "mode", "words",
      ])
    #expect(
      stage.options.map(\.kind) == [
        .integer, .number, .boolean, .bytes, .duration, .mediaType, .template, .text, .text,
      ])
    let options = Dictionary(uniqueKeysWithValues: stage.options.map { ($0.name, $0) })
    #expect(options["most"]?.range == 1...99)
    #expect(options["most"]?.help == "The most.")
    #expect(options["path"]?.required == true)
    #expect(options["mode"]?.choices == ["fast", "safe"])
    #expect(options["types"]?.shapes == [.one, .list])
    #expect(
      try StageSettings.values(["path=x"], for: stage).map(\.text) == [
        "10", "true", "1MB", "2s", "text/*", "image/png", "x", "safe",
      ])
    #expect(stage.keys.map(\.name) == ["count.lines", "count.found"])
    #expect(stage.codes.map(\.name) == ["too-long", "too-large"])
  }

  @Test(arguments: BadFile.stageFiles)
  func eachMistakeIsToldWithItsPlace(file: BadFile) {
    do {
      Issue.record("\(try Self.read(file.text))")
    } catch {
      let complaints = error.diagnostics.map {
        String($0.description.dropFirst("/stages/count/stage.yaml:".count))
      }
      #expect(complaints == file.complaints)
    }
  }

  // MARK: exec

  private static func exec(_ options: String) throws -> StageDefinition {
    let text = "version: 1\nstages:\n  - use: exec\n    id: judge\n    options: \(options)\n"
    let document = try PipelineDocument.parse(
      Array(text.utf8), file: "/etc/judge/pipeline.yaml", environment: [:])
    return try #require(try document.resolve(["exec": .success(.exec)]).stages.first)
  }

  @Test func theOptionsOfExecSayWhatIsStarted() throws {
    let stage = try Self.exec(
      "{ command: [sh, judge.sh], reads: lists, processes: 3, max-content: 1MB, produces: true, derives: true, expands: true, "
        + "keys: [judge.a, judge.b], codes: bad }")
    var program = Program(command: ["sh", "judge.sh"], folder: "/etc/judge")
    (program.reads, program.processes, program.maxContent) = (["lists"], 3, 1 << 20)
    #expect(stage.description.program == program)
    #expect(stage.id == "judge" && stage.description.produces)
    #expect(stage.description.derives && stage.description.expands)
    #expect(stage.description.keys.map(\.name) == ["judge.a", "judge.b"])
    #expect(stage.description.codes.map(\.name) == ["bad", "too-large"])
  }

  @Test func execTakesOneWordAsItsCommand() throws {
    let program = try #require(try Self.exec("{ command: /opt/judge }").description.program)
    #expect((program.command, program.processes) == (["/opt/judge"], 1))
  }

  @Test(arguments: [
    ("{}", "exec"), ("{ command: [] }", "command"), ("{ command: x, processes: 0 }", "processes"),
    ("{ command: x, processes: 1001 }", "processes"), ("{ command: x, max-content: 5GB }", "max-content"),
    ("{ command: x, produces: perhaps }", "produces"), ("{ comand: x }", "did you mean 'command'?"),
  ])
  func optionsOfExecThatMakeNoSenseAreRefused(options: String, part: String) {
    let error = #expect(throws: ConfigurationError.self) { try Self.exec(options) }
    #expect(
      error?.diagnostics.contains { $0.description.contains(part) } == true, "\(String(describing: error))")
  }
}

extension BadFile {
  /// Those of stages that are programs.
  static let stageFiles = table(
    #"""
    === nothing
    > 1:1: the file is empty; it needs 'id', 'version', 'summary' and 'command' at least

    === a list
    - id: count
    > 1:1: a stage's file is a map of keys, not a list; begin it with 'id: NAME'

    === keys that are missing
    version: 1
    > 1:1: the stage's file lacks 'id'; add 'id: …' (The stage's name: that of its folder)
    > 1:1: the stage's file lacks 'summary'; add 'summary: …' (What it does, in one sentence)
    > 1:1: the stage's file lacks 'command'; add 'command: [python3, stage.py]'

    === a key misspelt
    id: count
    version: 1.0.0
    summery: Counts.
    command: x
    > 3:1: unknown key 'summery'; did you mean 'summary'?

    === another name than the folder's
    id: counts
    version: 1.0.0
    summary: Counts.
    command: x
    > 1:5: the stage calls itself 'counts', and its folder is called 'count'; give both the same name

    === a name that is none
    id: Count
    version: 1.0.0
    summary: Counts.
    command: x
    > 1:5: 'Count' is not a name, which has lower case letters, digits and '-' only; write one such as 'virus-list'

    === processes beyond what there may be
    id: count
    version: 1.0.0
    summary: Counts.
    command: x
    processes: 0
    max-content: 0B
    > 5:12: 'processes' is 0, which is too little; write a value from 1 to 1000
    > 6:14: 'max-content' is 0B, which is too little; write a value from 1B to 4GB

    === nothing to start
    id: count
    version: 1.0.0
    summary: Counts.
    command: []
    > 4:10: 'command' is an empty list; list one value at least, or leave 'command' out

    === options that are no map
    id: count
    version: 1.0.0
    summary: Counts.
    command: x
    options: [most]
    > 5:10: 'options' takes a map from names, not a list; write 'options: { limit: { type: integer, default: 10, help: … } }'

    === an option of no type
    id: count
    version: 1.0.0
    summary: Counts.
    command: x
    options:
      most: { type: number-of-lines }
      Least: { type: integer }
      other: 3
      more: { typ: text }
    > 6:17: 'type' knows no 'number-of-lines'; the choices are: text, integer, number, boolean, bytes, duration, media-type, template
    > 7:3: 'Least' is not a name, which has lower case letters, digits and '-' only; write one such as 'max-lines'
    > 8:10: an option is a map, not '3'; write '{ type: text, help: … }'
    > 9:11: unknown key 'typ'; did you mean 'type'?

    === a default that does not fit
    id: count
    version: 1.0.0
    summary: Counts.
    command: x
    options:
      most: { type: integer, default: many }
      least: { type: integer, default: 0, minimum: 1 }
      mode: { choices: [a, b], default: c }
      map: { default: { a: b } }
    > 6:3: the default of option 'most' of stage 'count' wants a whole number, not 'many'; correct its 'default'
    > 7:3: the default of option 'least' of stage 'count' is 0, which is too little; correct its 'default'
    > 8:3: the default of option 'mode' of stage 'count' knows no 'c'; correct its 'default'
    > 9:19: a default is one value or a list, not a map; write a value

    === a minimum above the maximum
    id: count
    version: 1.0.0
    summary: Counts.
    command: x
    options:
      most: { type: integer, minimum: 2, maximum: 1 }
    > 6:9: its minimum is above its maximum; make the maximum as large at least

    === keys and codes that are none
    id: count
    version: 1.0.0
    summary: Counts.
    command: x
    keys: [count.lines]
    codes: { "two words": It has two., long: [1] }
    > 5:7: this takes a map from names to sentences, not a list; write 'too-long: It has more lines than are allowed.'
    > 6:10: 'two words' cannot be a code: it has other letters than names have, or more than 100; write one such as 'too-long'
    > 6:42: what a code means is a sentence, not a list; write one

    === a key that stands twice
    id: count
    id: count
    version: 1.0.0
    summary: Counts.
    command: x
    > 2:1: 'id' is given twice, first at line 1, column 1; remove one of the two

    === no YAML
    id: [count
    > 2:1: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence that begins at line 1, column 5; close each bracket, and put a value with '{', '[' or ',' in quotes
    """#)
}
