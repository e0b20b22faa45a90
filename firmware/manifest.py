"""What a board gets: our files, relative to this folder, and those of the MQTT client that it stands on.

No `__init__.py`: MicroPython takes a folder for a package without one, and each would cost 400 bytes of heap.
"""

FILES = (
    "boot.py",
    "main.py",
    "dcka_core/actions.py",
    "dcka_core/blocks.py",
    "dcka_core/codec.py",
    "dcka_core/duty.py",
    "dcka_core/epochs.py",
    "dcka_core/errors.py",
    "dcka_core/fold_viper.py",
    "dcka_core/gossip.py",
    "dcka_core/gossip_session.py",
    "dcka_core/intake.py",
    "dcka_core/kernel.py",
    "dcka_core/kernel_viper.py",
    "dcka_core/kernel_viper_16.py",
    "dcka_core/kernel_viper_2.py",
    "dcka_core/kernel_viper_3.py",
    "dcka_core/kernel_viper_4.py",
    "dcka_core/kernel_viper_5.py",
    "dcka_core/kernel_viper_6.py",
    "dcka_core/kernel_viper_7.py",
    "dcka_core/kernel_viper_8.py",
    "dcka_core/kernel_viper_bare.py",
    "dcka_core/kernel_viper_sorted_1.py",
    "dcka_core/kernel_viper_sorted_2.py",
    "dcka_core/kernel_viper_sorted_3.py",
    "dcka_core/kernels.py",
    "dcka_core/lloyd.py",
    "dcka_core/messages.py",
    "dcka_core/node.py",
    "dcka_core/parts.py",
    "dcka_core/points.py",
    "dcka_core/record.py",
    "dcka_core/session.py",
    "dcka_core/slot_record.py",
    "dcka_core/slots.py",
    "dcka_core/spread.py",
    "dcka_core/starts.py",
    "dcka_core/survey.py",
    "dcka_core/survey_grid.py",
    "dcka_core/survey_points.py",
    "dcka_core/survey_state.py",
    "dcka_core/ticks.py",
    "dcka_core/tree.py",
    "dcka_core/tree_messages.py",
    "dcka_device/config.py",
    "dcka_device/connector.py",
    "dcka_device/console.py",
    "dcka_device/guard.py",
    "dcka_device/link.py",
    "dcka_device/nap.py",
    "dcka_device/shell.py",
    "dcka_device/store.py",
    "dcka_device/storing.py",
    "dcka_device/tls.py",
    "dcka_device/wifi.py",
)
# What a node asks for by name (`parts`) although others import it too: the build leaves it a file of its own.
ASKED = ("dcka_core/tree.py",)
# Paths as they are imported; the build finds them among the installed packages.
LIBRARIES = ("chumicro_mqtt/_wire.py", "chumicro_mqtt/client.py")
# What no node ever calls of them, and is left out of what is compiled for one: a tenth of the client.
UNUSED = {
    "chumicro_mqtt/_wire.py": ("topic_matches",),
    "chumicro_mqtt/client.py": (
        "default_client_id",
        "InboundPublish.__repr__",
        "MQTTClient.from_config",
        "MQTTClient.hold",
        "MQTTClient.set_will",
        "MQTTClient.publish",
        "MQTTClient._publish_disconnected",
        "MQTTClient._do_publish",
        "MQTTClient.next_message",
        "MQTTClient._inbound_stream_ended",
        "MQTTClient.check",
        "MQTTClient.io_error",
    ),
}
# What has nothing to do on a node: nothing is published before there is a connection, and our connectors don't block.
IDLE = {"chumicro_mqtt/client.py": ("MQTTClient._drain_pre_connect_queue", "_force_non_blocking")}
