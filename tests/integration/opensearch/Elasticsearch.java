import java.nio.file.Path;
import java.util.Map;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.http.HttpServerTransport;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** As OpenSearch.java; plug-ins lie in the folder `modules` below the node's. */
class Elasticsearch {
    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        Settings.Builder settings = Settings.builder().put("path.home", arguments[0]);
        for (int i = 1; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        LogConfigurator.setNodeName("n1");
        LogConfigurator.configureESLogging();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            settings.build(), Map.of(), home.resolve("config"), () -> "n1");
        Node node = new Node(environment, PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(home.resolve("modules")),
            PluginsLoader.loadPluginsBundles(home.resolve("plugins")), Map.of()));
        node.start();
        System.out.println("port " + node.injector().getInstance(HttpServerTransport.class)
            .boundAddress().publishAddress().getPort());
        while (System.in.read() >= 0) {
        }
        node.close();
        System.exit(0);
    }
}
