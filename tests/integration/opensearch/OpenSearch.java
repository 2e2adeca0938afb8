import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;

/** One node. Arguments: its folder, then settings as key=value; plugin=CLASS adds a plug-in. Says
 * "port N" once the port is open, and ends with its standard input, so that it never outlives the
 * test that started it. */
class OpenSearch extends Node {
    OpenSearch(Environment environment, Collection<Class<? extends Plugin>> plugins) {
        super(environment, plugins, false);
    }

    public static void main(String[] arguments) throws Exception {
        Settings.Builder settings = Settings.builder().put("path.home", arguments[0]);
        List<Class<? extends Plugin>> plugins = new ArrayList<>();
        for (int i = 1; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            if (pair[0].equals("plugin")) {
                plugins.add(Class.forName(pair[1]).asSubclass(Plugin.class));
            } else {
                settings.put(pair[0], pair[1]);
            }
        }
        // Before the environment, or the set-up of the log complains.
        LogConfigurator.setNodeName("n1");
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings.build(),
            Map.of(), Path.of(arguments[0], "config"), () -> "n1");
        OpenSearch node = new OpenSearch(environment, plugins);
        node.start();
        System.out.println("port " + node.injector().getInstance(HttpServerTransport.class)
            .boundAddress().publishAddress().getPort());
        while (System.in.read() >= 0) {
        }
        node.close();
        System.exit(0);
    }
}
