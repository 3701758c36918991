import Foundation
import Testing

/// What lint tells of a pipeline that can be used and may not do what it seems to.
struct HiddenPluginTests {
  /// The media type is not known yet, so that `max` alone counts.
  @Test func lintTellsOfLimitsByTypeThatNeverAct() throws {
    let folder = try TemporaryFolder()
    func lint(_ stages: String, _ words: String...) throws -> SluiceCommand.Outcome {
      try folder.write("pipeline.yaml", "version: 1\nstages:\n\(stages)")
      let outcome = try SluiceCommand.run(["lint"] + words, in: folder)
      #expect(outcome.status == 0, "\(outcome.err)")
      return outcome
    }
    let size = "  - use: size\n    options:\n      rules: { \"image/*\": 2MB }\n"
    let told = try lint(size + "  - use: mime\n").err
    #expect(
      told.hasPrefix(
        "pipeline.yaml:5:7: note: rules: the entries by media type of stage 'size' never act, since"))
    #expect(told.contains("; put 'use: mime' before it\n"), "\(told)")
    let json = try lint(size + "  - use: mime\n", "--format", "json").out
    #expect(
      json.hasPrefix(#"{"record":"note","file":"pipeline.yaml","line":5,"column":7,"message":"rules: "#),
      "\(json)")
    #expect(try lint("  - use: mime\n" + size).err == "")
    let every = "  - use: size\n    options: { rules: { \"*/*\": 2MB } }\n  - use: mime\n"
    #expect(try lint(every).err == "")
    let store =
      "  - use: store\n    options: { path: { \"image/*\": \"i/{sha256}\", \"*/*\": \"o/{sha256}\" } }\n"
    #expect(try lint(store).err.contains("note: path: the entries by media type of stage 'store' never act"))
  }

  /// ld.so(8) takes the library that is loaded already for one of the same name.
  @Test func lintTellsOfALibraryThatTwoPluginsBring() throws {
    let folder = try TemporaryFolder()
    for (place, stage) in [("a", "misbehave"), ("b", "hoard")] {
      let source = try folder.write("\(place)/helper.c", "int helper(void) { return '\(place)'; }\n")
      let library = "\(folder.path)/\(place)/libhelper.so"
      try #require(
        try FixtureStages.run(
          FixtureStages.compiler, ["-shared", "-fPIC", "-Wl,-soname,libhelper.so", source, "-o", library])
          == 0)
      try FixtureStages.compile(
        stage, into: "\(folder.path)/\(place)", ["-Wl,--no-as-needed", library, "-Wl,-rpath,$ORIGIN"])
    }
    try folder.write("pipeline.yaml", "version: 1\nstages:\n  - use: misbehave\n  - use: hoard\n")
    let both = ["SLUICE_PLUGIN_PATH": "\(folder.path)/a:\(folder.path)/b"]
    let told = try SluiceCommand.run(["lint"], in: folder, environment: both)
    #expect(told.status == 0, "\(told.err)")
    #expect(
      told.err.contains(
        "note: stage 'hoard' gets the libhelper.so of stage 'misbehave', since one worker runs both"),
      "\(told.err)")
    try folder.write("pipeline.yaml", "version: 1\nstages:\n  - use: hoard\n")
    #expect(try SluiceCommand.run(["lint"], in: folder, environment: both).err == "")
  }

  @Test func lintTellsOfAPluginThatHidesAnother() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    let size = SluiceCommand.folder + "/libsluice-size.so"
    let first = URL(fileURLWithPath: size).resolvingSymlinksInPath().path
    try folder.write("plugins/.keep", "")
    try FileManager.default.copyItem(atPath: size, toPath: folder.path + "/plugins/size.so")
    // Another name of the same file hides nothing, nor does a stage that the pipeline has no use for.
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/plugins/libsluice-mime.so",
      withDestinationPath: SluiceCommand.folder + "/libsluice-mime.so")
    try folder.write("plugins/scan.so", "")
    let environment = ["SLUICE_PLUGIN_PATH": folder.path + "/plugins"]
    let outcome = try SluiceCommand.run(["lint"], in: folder, environment: environment)
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(outcome.err.split(separator: "\n").count == 1, "\(outcome.err)")
    #expect(outcome.err.contains("note: 'size' is \(first), which hides \(folder.path)/plugins/size.so"))
    let told = try SluiceCommand.run(["lint", "--format", "json"], in: folder, environment: environment).out
    #expect(told.hasPrefix(#"{"record":"note","message":"'size' is "#), "\(told)")
  }
}
