import Foundation
import Testing

/// `stages run` with its options, `stages inspect`, `stages doctor`, `graph`, `schema`.
struct WorkbenchTests {
  // MARK: stages run

  @Test func repetitionsAreProfiled() throws {
    let folder = try TemporaryFolder()
    try folder.write("a.txt", "hello")
    let outcome = try SluiceCommand.run(
      ["stages", "run", "size", "a.txt", "--repeat", "50", "--format", "json"], in: folder)
    let profile = try #require(try outcome.only(Printed.StageRun.self).profile)
    #expect(profile.count == 50)
    let times = [profile.medianMilliseconds, profile.p99Milliseconds, profile.longestMilliseconds]
    #expect(times == times.sorted() && times[0] >= 0)
    // A process with the Swift runtime holds some megabytes.
    #expect(profile.peakBytes > 1 << 20)
    let text = try SluiceCommand.run(["stages", "run", "size", "a.txt", "--repeat", "3"], in: folder).out
    #expect(text.contains("3 times: median "))
  }

  @Test func theTraceTellsEverythingInOrder() throws {
    let folder = try TemporaryFolder()
    try folder.write("a.txt", "hello\n")
    let outcome = try SluiceCommand.run(
      [
        "stages", "run", "store", "--set", "path={messageId}/{fileName}", "a.txt", "--trace", "--format",
        "json",
      ], in: folder)
    let trace = try #require(try outcome.only(Printed.StageRun.self).trace)
    try #require(trace.map(\.call) == ["open", "expand", "set_location", "process", "flush"])
    #expect(trace[1].text.hasPrefix("{messageId}/{fileName} -> "))
    #expect(trace[1].text.hasSuffix("/a.txt"))
    let mime = try SluiceCommand.run(["stages", "run", "mime", "a.txt", "--trace"], in: folder).out
    #expect(mime.contains("set_media_type  text/plain"))
    #expect(mime.contains("annotate        mime.magic = text/plain"))
  }

  @Test func contentComesFromStandardInput() throws {
    let outcome = try SluiceCommand.run(
      ["stages", "run", "size", "--set", "max=4B", "-", "--format", "json"], in: TemporaryFolder(),
      input: "hello")
    #expect(outcome.status == 1)
    #expect(try outcome.only(Printed.StageRun.self).code == "too-large")
  }

  @Test func standardInputThatDoesNotEndIsNotReadForEver() throws {
    let outcome = try SluiceCommand.run(
      ["-c", "'\(SluiceCommand.folder)/sluice' stages run size - </dev/zero"], in: TemporaryFolder(),
      program: "/bin/sh")
    #expect(outcome.status == 1, "\(outcome.err)")
    #expect(
      (outcome.out + outcome.err).contains("standard input has more than 1 GiB"),
      "\(outcome.out) \(outcome.err)")
  }

  @Test func aStageRunsUnderADebugger() throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/gdb") else {
      return print("skipped: there is no gdb on this machine")
    }
    let folder = try TemporaryFolder()
    try folder.write("a.txt", "hello")
    let outcome = try SluiceCommand.run(
      ["stages", "run", "size", "a.txt", "--under", "gdb"], in: folder, input: "run\nquit\n")
    #expect(outcome.status == 0, "\(outcome.err.suffix(500))")
    #expect(outcome.out.contains("pass        a.txt"))
  }

  @Test func memoryErrorsOfAStageShowUnderValgrind() throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/valgrind") else {
      return print("skipped: there is no valgrind on this machine")
    }
    let folder = try TemporaryFolder()
    let source = try String(
      contentsOfFile: SluiceCommand.projectFolder + "/Templates/c/content/greeting.c", encoding: .utf8)
    let call = "self->host->annotate_text(call, \"greeting.word\", self->word);"
    try folder.write(
      "greeting.c",
      source.replacingOccurrences(
        of: call, with: "char *volatile gone = malloc(8); free(gone); gone[1] = 1; \(call)"))
    try folder.write("hello.txt", "hello")
    let status = try FixtureStages.run(
      FixtureStages.compiler,
      [
        "-shared", "-fPIC", "-g", "-gdwarf-4", "-w", "-I",
        SluiceCommand.projectFolder + "/Sources/Contract/CStage/include",
        folder.path + "/greeting.c", "-o", folder.path + "/libsluice-greeting.so",
      ])
    #expect(status == 0)
    let outcome = try Installation.shared().run(
      ["stages", "run", "./libsluice-greeting.so", "hello.txt", "--under", "valgrind"], in: folder)
    #expect(outcome.out.contains("pass        hello.txt"), "\(outcome.err)")
    #expect(outcome.err.contains("Invalid write of size 1"), "\(outcome.err)")
    #expect(outcome.err.contains("greeting.c:"))
  }

  @Test func aToolThatIsNotThereIsSaid() throws {
    let folder = try TemporaryFolder()
    try folder.write("a.txt", "hello")
    let outcome = try SluiceCommand.run(
      ["stages", "run", "size", "a.txt", "--under", "valgrind"], in: folder, environment: ["PATH": "/nowhere"]
    )
    #expect(outcome.status == 78)
    #expect(outcome.err.contains("no valgrind in $PATH"))
  }

  // MARK: stages inspect

  @Test func inspectTellsWhatTheStageDeclares() throws {
    let folder = try TemporaryFolder()
    let outcome = try SluiceCommand.run(["stages", "inspect", "size"], in: folder)
    let text = outcome.out.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !["  file", "  sha256", "  made with"].contains(where: $0.hasPrefix) }.joined(separator: "\n")
    try Golden.expect(text, "stages-inspect")
    let inspection = try SluiceCommand.run(["stages", "inspect", "size", "--format", "json"], in: folder)
      .only(Printed.Inspection.self)
    let sum = try SluiceCommand.run([inspection.file], in: folder, program: "/usr/bin/sha256sum").out
    #expect(try sum.hasPrefix(#require(inspection.sha256)))
    #expect(inspection.compilers.contains { $0.contains("clang") })
    #expect(inspection.libraries.contains("libswiftCore.so"))
  }

  // MARK: stages doctor

  @Test(arguments: [
    ("crash-on-load", "takes its process down while it loads", nil),
    ("foreign-abi", "is built for stage ABI 99.7, and this sluice speaks 1.1", nil),
    ("missing-symbol", "exports no function 'missing_symbol_stage'", nil),
    (
      "undefined-symbol", "undefined symbol: a_function_of_no_library", "link the library that has the symbol"
    ),
    ("not-a-library", "is no 64-bit ELF file", "is it a shared library for this machine?"),
  ])
  func doctorTellsWhyAFileDoesNotLoad(stage: String, problem: String, remedy: String?) throws {
    let file = try FixtureStages.folder() + "/libsluice-\(stage).so"
    let outcome = try SluiceCommand.run(
      ["stages", "doctor", file, "--format", "json"], in: TemporaryFolder())
    #expect(outcome.status == 1)
    let diagnosis = try outcome.only(Printed.Diagnosis.self)
    #expect(diagnosis.problem?.contains(problem) == true, "\(outcome.out)")
    if let remedy { #expect(diagnosis.remedy == remedy) }
  }

  @Test func doctorLooksAtEachFileInTheSearchPath() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.copyItem(
      atPath: SluiceCommand.folder + "/libsluice-size.so", toPath: folder.path + "/size.so")
    try folder.write("broken.so", "This is a text.\n")
    let outcome = try SluiceCommand.run(
      ["stages", "doctor"], in: folder, environment: ["SLUICE_PLUGIN_PATH": folder.path])
    #expect(outcome.status == 1)
    #expect(
      outcome.out.contains("ok     \(SluiceCommand.folder)") || outcome.out.contains("libsluice-pdf.so"))
    #expect(outcome.out.contains("libsluice-size.so is found before it"))
    #expect(outcome.out.contains("wrong  \(folder.path)/broken.so"))
  }

  // MARK: graph and schema

  @Test(arguments: ["text", "dot", "mermaid"])
  func aPipelineIsDrawn(format: String) throws {
    let folder = try TemporaryFolder()
    let file = SluiceCommand.projectFolder + "/pipeline.yaml"
    let outcome = try SluiceCommand.run(["graph", file, "--format", format], in: folder)
    #expect(outcome.status == 0)
    try Golden.expect(outcome.out, "graph-\(format)")
  }

  @Test func theSchemaHasEveryOptionOfEveryPlugin() throws {
    let folder = try TemporaryFolder()
    let outcome = try SluiceCommand.run(["schema"], in: folder)
    let schema = try JSON(outcome.out)
    #expect(schema["$schema"].text == "https://json-schema.org/draft/2020-12/schema")
    let properties = schema["properties"]
    #expect(
      Set(properties.members.keys) == [
        "version", "plugins", "stages", "channels", "lanes", "credentials", "retry", "keep", "expand",
        "secrets",
        "sandbox",
        "serve", "workers", "memory-total", "reuse", "turns",
      ])
    var options: [String: Set<String>] = [:]
    let lane = properties["lanes"]["properties"]["downloads"]
    for entry in [properties["stages"]["items"], properties["channels"]["additionalProperties"], lane] {
      let choices = entry["allOf"].elements
      #expect(!choices.isEmpty)
      for choice in choices {
        let id = try #require(choice["if"]["properties"]["use"]["const"].text)
        options[id] = Set(choice["then"]["properties"]["options"]["properties"].members.keys)
      }
    }
    let listed = try SluiceCommand.run(["stages", "list", "--format", "json"], in: folder)
      .every(Printed.Plugin.self)
    #expect(Set(options.keys) == Set(listed.map(\.id)))
    #expect(options["size"] == ["max", "min", "rules"])
    #expect(options["pdf"] == ["max-pages", "encrypted"])
  }
}
