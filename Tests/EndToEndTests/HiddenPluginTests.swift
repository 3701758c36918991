import Foundation
import Testing

/// Of two plugins of one id the first is used. Whoever meant the other is told.
struct HiddenPluginTests {
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
