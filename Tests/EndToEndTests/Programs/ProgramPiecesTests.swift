import Foundation
import Testing

/// What programs leave beside the content, and take out of it.
@Suite(.serialized)
struct ProgramPiecesTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// Runs a stage for one content, and gives what it made by the names of the files that `--save` wrote.
  private func run(
    _ stage: String, _ content: String, more: [String] = []
  ) throws -> (outcome: SluiceCommand.Outcome, files: [String: String]) {
    try folder.write("file", content)
    let outcome = try SluiceCommand.run(
      ["stages", "run", stage, "file", "--save", "out", "--format", "json"] + more, in: folder,
      environment: ["SLUICE_PLUGIN_PATH": folder.path + "/stages"])
    let made = FileManager.default.fileExists(atPath: folder.path + "/out") ? folder.files(below: "out") : []
    return (outcome, try Dictionary(uniqueKeysWithValues: made.map { ($0, try folder.read("out/\($0)")) }))
  }

  private func acts(
    _ act: String, more: [String] = [], declaring: String = "derives: true\nexpands: true"
  ) throws -> (said: Printed.StageRun, files: [String: String], err: String) {
    try ActsProgram.write(to: folder, more: declaring)
    let (outcome, files) = try run("acts", act, more: more)
    return (try outcome.only(Printed.StageRun.self), files, outcome.err)
  }

  @Test func itsObjectsChildrenAndContentLieOneAfterTheOther() throws {
    let (said, files, err) = try acts(
      """
      os.write(4, b'a thumb' + b'eins')
      say(derive='thumb', type='image/png', bytes=7)
      say(child='in/a.txt', type='text/plain', bytes=4)
      os.write(4, b'zwei' + b'the new words')
      say(child='', bytes=4)
      say(derive='none-at-all', type='text/plain', bytes=0, produce=True, verdict='pass')
      """)
    #expect(said.verdict == "pass", "\(err)")
    #expect(
      files == [
        "1-content": "the new words", "2-thumb.png": "a thumb", "3-none-at-all.txt": "",
        "4-in%2Fa.txt": "eins", "5-_": "zwei",
      ], "\(files) \(err)")
  }

  @Test func aLaterObjectOfANameTakesThePlaceOfTheEarlier() throws {
    let (said, files, _) = try acts(
      """
      os.write(4, b'oldnew')
      say(derive='text', type='text/plain', bytes=3)
      say(derive='text', type='text/plain', bytes=3, verdict='pass')
      """)
    #expect(said.verdict == "pass")
    #expect(files == ["1-text.txt": "new"])
  }

  @Test func whatIsNotKeptIsDroppedAndItsBytesWithIt() throws {
    let (said, files, _) = try acts(
      """
      os.write(4, b'onetwo')
      say(derive='Not A Name', type='text/plain', bytes=3)
      say(derive='text', type='text/plain', bytes=3, verdict='pass')
      """)
    #expect(said.verdict == "pass")
    #expect(files == ["1-text.txt": "two"])
  }

  @Test func whatItDoesNotDeclareIsDropped() throws {
    let (said, files, _) = try acts(
      """
      os.write(4, b'onetwosix')
      say(derive='text', type='text/plain', bytes=3)
      say(child='a.txt', bytes=3)
      say(produce=True, verdict='pass')
      """, declaring: "")
    #expect(said.verdict == "pass")
    #expect(files == ["1-content": "six"])
  }

  /// `derives` allows no children, and `expands` no derived objects.
  @Test(arguments: [("derives: true", ["1-text.txt"]), ("expands: true", ["1-a.txt"])])
  func eachIsDeclaredByItself(declared: String, names: [String]) throws {
    let (_, files, _) = try acts(
      """
      os.write(4, b'onetwo')
      say(derive='text', type='text/plain', bytes=3)
      say(child='a.txt', bytes=3, verdict='pass')
      """, declaring: declared)
    #expect(files.keys.sorted() == names)
  }

  @Test(arguments: [
    ("say(derive='text', type='text/plain', bytes=4, verdict='pass')", "'derive' of 4 bytes"),
    (
      "say(derive='text', type='text/plain', bytes=2); say(child='a', bytes=2, verdict='pass')",
      "'child' of 2 bytes, and in descriptor 4 there are 1 that"
    ),
    (
      "os.ftruncate(4, 0); say(derive='text', type='text/plain', bytes=9223372036854775807)",
      "that are not taken"
    ),
    (
      "say(derive='text', type='text/plain', bytes=3); os.ftruncate(4, 1); say(child='a', bytes=1)",
      "that are not taken"
    ),
  ])
  func moreBytesThanThereAreAreAnInvalidReply(act: String, saying: String) throws {
    let (said, files, _) = try acts("os.write(4, b'abc')\n\(act)")
    #expect(said.code == "invalid-reply", "\(said)")
    #expect(said.message?.contains(saying) == true, "\(said)")
    #expect(files.isEmpty)
  }

  @Test func whatOneAttachmentWroteIsNotTheNextOnes() throws {
    let inbox = try ActsProgram.inbox(settings: ActsProgram.rejecting, more: "workers: 1")
    try ActsProgram.write(to: inbox.folder, more: "derives: true")
    let act = "say(derive='text', type='text/plain', bytes=3, verdict='pass')"
    for name in ["a", "b", "c"] { try inbox.add(name, "os.write(4, b'abc'); \(act) # \(name)") }
    try inbox.add("d", act)
    let run = try inbox.run()
    for name in ["a", "b", "c"] { #expect(try run.record(name).isCompleted) }
    #expect(try run.record("d").code == "invalid-reply")
    try inbox.checkWhole(run)
  }

  @Test func aShellScriptDoesItAsWell() throws {
    try folder.write(
      "stages/lines/stage.yaml",
      """
      id: lines
      version: 1.0.0
      summary: Takes the lines out of a text.
      command: [sh, lines.sh]
      expands: true
      derives: true
      """)
    try folder.write(
      "stages/lines/lines.sh",
      #"""
      read -r setup
      echo '{"ready":true}'
      while read -r attachment; do
        number=0
        while read -r line <&3; do
          number=$((number + 1))
          printf '%s' "$line" >&4
          printf '{"child":"line-%d","bytes":%d}\n' "$number" "${#line}"
        done
        printf '%d' "$number" >&4
        printf '{"derive":"count","type":"text/plain","bytes":%d,"verdict":"pass"}\n' "${#number}"
      done
      """#)
    let (outcome, files) = try run("lines", "first\nsecond\n")
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(files == ["1-count.txt": "2", "2-line-1": "first", "3-line-2": "second"])
  }

  @Test func execDeclaresItByItsOptions() throws {
    try folder.write("half.py", ActsProgram.source)
    let (outcome, files) = try run(
      "exec", "os.write(4, b'abc'); say(derive='text', type='text/plain', bytes=3, verdict='pass')",
      more: ["--set", "command=python3,half.py", "--set", "derives=true"])
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(files == ["1-text.txt": "abc"])
  }
}
