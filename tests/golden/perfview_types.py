"""What PerfView's TraceEvent library calls the event types that the baselines can be compared on.

The baselines are made from its ETLX form: stacks are folded away, thread and CLR rundown and idle
samples are filtered. Classes where that matters (Thread/DCStart, PerfInfo/Sample, the CLR
providers of merged traces) are therefore not in these tables.
"""

DISK_IO = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c"
PAGE_FAULT = "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c"
PROCESS = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"
THREAD = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"
TCP_IP = "9a280ac0-c8e0-11d1-84e2-00c04fb998a2"
UDP_IP = "bf3a50c5-a9c9-4988-a005-2df0b7c80f80"
EVENT_TRACE = "68fdd900-4a3e-11d1-84f4-0000f80464e3"
IMAGE = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518"
PERF_INFO = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc"
SYSTEM_CONFIG = "01853a65-418f-4f36-aefc-dc0f1d2fd235"
IMAGE_ID = "b3e675d7-2554-4f18-830b-2762732560de"
SYSTEM_CONFIG_EX = "9b79ee91-b5fd-41c0-a243-4248e266e9d0"
METADATA = "bbccf6c1-6cd1-48c4-80ff-839482e37671"

PERFVIEW = "a8a71ac1-040f-54a2-07ca-00a89b5ab761"
TPL = "2e5dba47-a3d2-4d16-8ee0-6671ffdcd7b5"
FRAMEWORK = "8e9f5090-2d75-4d03-8a81-e5afbf85daf1"
DNS_CLIENT = "1c95126e-7eea-49a9-a3fe-a378b03ddb4d"
IMMERSIVE_SHELL = "315a8872-923e-4ea2-9889-33cd4754bf64"
KERNEL_EVENT_TRACING = "b675ec37-bdb6-4648-bc92-f3fdc74d3ca2"
KERNEL_FILE = "edd08927-9cc4-4e65-b970-c2560fb5c289"
KERNEL_PROCESS = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"
CLR = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"

# Name -> (class, opcode) of classic events.
CLASSIC = {
    "Windows Kernel/DiskIO/Read": (DISK_IO, 10),
    "Windows Kernel/DiskIO/Write": (DISK_IO, 11),
    "Windows Kernel/DiskIO/ReadInit": (DISK_IO, 12),
    "Windows Kernel/DiskIO/WriteInit": (DISK_IO, 13),
    "Windows Kernel/DiskIO/FlushBuffers": (DISK_IO, 14),
    "Windows Kernel/DiskIO/FlushInit": (DISK_IO, 15),
    "Windows Kernel/Memory/HardFault": (PAGE_FAULT, 32),
    "Windows Kernel/EventTrace": (EVENT_TRACE, 0),
    "Windows Kernel/EventTrace/Extension": (EVENT_TRACE, 5),
    "Windows Kernel/EventTrace/RundownComplete": (EVENT_TRACE, 8),
    "Windows Kernel/EventTrace/EndExtension": (EVENT_TRACE, 32),
    "Windows Kernel/Image/Unload": (IMAGE, 2),
    "Windows Kernel/Image/DCStart": (IMAGE, 3),
    "Windows Kernel/Image/DCStop": (IMAGE, 4),
    "Windows Kernel/Image/Load": (IMAGE, 10),
    "MSNT_SystemTrace/Image/KernelBase": (IMAGE, 33),
    "Windows Kernel/Process/Start": (PROCESS, 1),
    "Windows Kernel/Process/Stop": (PROCESS, 2),
    "Windows Kernel/Process/DCStart": (PROCESS, 3),
    "Windows Kernel/Process/DCStop": (PROCESS, 4),
    "Windows Kernel/Process/PerfCtr": (PROCESS, 32),
    "Windows Kernel/Process/PerfCtrRundown": (PROCESS, 33),
    "Windows Kernel/Process/Defunct": (PROCESS, 39),
    "Windows Kernel/Thread/Start": (THREAD, 1),
    "Windows Kernel/Thread/Stop": (THREAD, 2),
    "Windows Kernel/PerfInfo/CollectionStart": (PERF_INFO, 73),
    "Windows Kernel/PerfInfo/CollectionEnd": (PERF_INFO, 74),
    "Windows Kernel/TcpIp/Send": (TCP_IP, 10),
    "Windows Kernel/TcpIp/Recv": (TCP_IP, 11),
    "Windows Kernel/TcpIp/Disconnect": (TCP_IP, 13),
    "Windows Kernel/TcpIp/Accept": (TCP_IP, 15),
    "Windows Kernel/TcpIp/SendIPV6": (TCP_IP, 26),
    "Windows Kernel/TcpIp/RecvIPV6": (TCP_IP, 27),
    "Windows Kernel/TcpIp/DisconnectIPV6": (TCP_IP, 29),
    "Windows Kernel/TcpIp/AcceptIPV6": (TCP_IP, 31),
    "Windows Kernel/TcpIp/TCPCopyIPV6": (TCP_IP, 34),
    "Windows Kernel/UdpIp/Send": (UDP_IP, 10),
    "Windows Kernel/UdpIp/Recv": (UDP_IP, 11),
    "Windows Kernel/UdpIp/SendIPV6": (UDP_IP, 26),
    "Windows Kernel/UdpIp/RecvIPV6": (UDP_IP, 27),
    "Windows Kernel/SystemConfig/CPU": (SYSTEM_CONFIG, 10),
    "Windows Kernel/SystemConfig/PhyDisk": (SYSTEM_CONFIG, 11),
    "Windows Kernel/SystemConfig/LogDisk": (SYSTEM_CONFIG, 12),
    "Windows Kernel/SystemConfig/NIC": (SYSTEM_CONFIG, 13),
    "Windows Kernel/SystemConfig/Video": (SYSTEM_CONFIG, 14),
    "Windows Kernel/SystemConfig/Services": (SYSTEM_CONFIG, 15),
    "Windows Kernel/SystemConfig/Power": (SYSTEM_CONFIG, 16),
    "Windows Kernel/SystemConfig/Network": (SYSTEM_CONFIG, 17),
    "Windows Kernel/SystemConfig/IRQ": (SYSTEM_CONFIG, 21),
    "Windows Kernel/SystemConfig/PnP": (SYSTEM_CONFIG, 22),
    "Windows Kernel/SystemConfig/IDEChannel": (SYSTEM_CONFIG, 23),
    "MSNT_SystemTrace/SystemConfig/Platform": (SYSTEM_CONFIG, 25),
    "Windows Kernel/SysConfig/BuildInfo": (SYSTEM_CONFIG_EX, 32),
    "Windows Kernel/SysConfig/SystemPaths": (SYSTEM_CONFIG_EX, 33),
    "Windows Kernel/SysConfig/UnknownVolume": (SYSTEM_CONFIG_EX, 34),
    "Windows Kernel/SysConfig/VolumeMapping": (SYSTEM_CONFIG_EX, 35),
    "Windows Kernel/SysConfig/Opcode(37)": (SYSTEM_CONFIG_EX, 37),
    "KernelTraceControl/ImageID": (IMAGE_ID, 0),
    "KernelTraceControl/ImageID/None": (IMAGE_ID, 32),
    "KernelTraceControl/ImageID/DbgID_RSDS": (IMAGE_ID, 36),
    "KernelTraceControl/ImageID/DbgID_ILRSDS": (IMAGE_ID, 37),
    "KernelTraceControl/ImageID/FileVersion": (IMAGE_ID, 64),
    "KernelTraceControl/MetaData/EventInfo": (METADATA, 32),
    "KernelTraceControl/MetaData/EventMapInfo": (METADATA, 33),
}

_SHELL_MESSAGE = "Microsoft-Windows-Immersive-Shell/ImmersiveShellAppManagerOnShellHookMessage"
_SHELL_ACTIVE = "Microsoft-Windows-Immersive-Shell/ImmersiveShellAppManagerSetActiveProcess"
_ETW_PROVIDER = "Microsoft-Windows-Kernel-EventTracing/ETW_TASK_PROVIDER/ETW_OPCODE_"

# Name -> (provider, event id) of manifest and EventSource events.
EVENTS = {
    "Microsoft-Windows-DNS-Client/DnsServerForInterface": (DNS_CLIENT, 1001),
    "Microsoft-Windows-DNS-Client/EventID(1001)": (DNS_CLIENT, 1001),
    "Microsoft-Windows-DNS-Client/EventID(1019)": (DNS_CLIENT, 1019),
    f"{_SHELL_MESSAGE}/Start": (IMMERSIVE_SHELL, 191),
    f"{_SHELL_MESSAGE}/Stop": (IMMERSIVE_SHELL, 192),
    f"{_SHELL_ACTIVE}/Start": (IMMERSIVE_SHELL, 147),
    f"{_SHELL_ACTIVE}/Stop": (IMMERSIVE_SHELL, 148),
    f"{_ETW_PROVIDER}ENABLE": (KERNEL_EVENT_TRACING, 14),
    f"{_ETW_PROVIDER}REGISTER": (KERNEL_EVENT_TRACING, 8),
    f"{_ETW_PROVIDER}UNREGISTER": (KERNEL_EVENT_TRACING, 9),
    "Microsoft-Windows-Kernel-EventTracing/ETW_TASK_SESSION/ETW_OPCODE_STOP":
        (KERNEL_EVENT_TRACING, 11),
    "Microsoft-Windows-Kernel-File/Create": (KERNEL_FILE, 12),
    "Microsoft-Windows-Kernel-Process/ProcessStart/Start": (KERNEL_PROCESS, 1),
    "Microsoft-Windows-Kernel-Process/ProcessStop/Stop": (KERNEL_PROCESS, 2),
    "PerfView/Tracing/Start": (PERFVIEW, 2),
    "PerfView/Tracing/Stop": (PERFVIEW, 3),
    "PerfView/Rundown/Start": (PERFVIEW, 4),
    "PerfView/Rundown/Stop": (PERFVIEW, 5),
    "PerfView/WaitForIdle": (PERFVIEW, 6),
    "PerfView/CommandLineParameters": (PERFVIEW, 10),
    "PerfView/SessionParameters": (PERFVIEW, 11),
    "PerfView/KernelEnableParameters": (PERFVIEW, 12),
    "PerfView/ClrEnableParameters": (PERFVIEW, 13),
    "PerfView/ProviderEnableParameters": (PERFVIEW, 14),
    "PerfView/StartAndStopTimes": (PERFVIEW, 15),
    "PerfView/StopReason": (PERFVIEW, 19),
    "PerfView/PerfViewLog": (PERFVIEW, 22),
    "PerfView/ManifestData": (PERFVIEW, 65534),
    "System.Diagnostics.Eventing.FrameworkEventSource/ThreadPoolEnqueueWork": (FRAMEWORK, 30),
    "System.Diagnostics.Eventing.FrameworkEventSource/ThreadPoolDequeueWork": (FRAMEWORK, 31),
    "System.Diagnostics.Eventing.FrameworkEventSource/ManifestData": (FRAMEWORK, 65534),
    "System.Threading.Tasks.TplEventSource/TaskScheduled/Send": (TPL, 7),
    "System.Threading.Tasks.TplEventSource/TaskExecute/Start": (TPL, 8),
    "System.Threading.Tasks.TplEventSource/TaskExecute/Stop": (TPL, 9),
    "System.Threading.Tasks.TplEventSource/ManifestData": (TPL, 65534),
}

# The runtime events of perfview-gcevents.etl, the one trace in which all of them are counted.
CLR_EVENTS = {
    "GC/Start": 1, "GC/Stop": 2, "GC/RestartEEStop": 3, "GC/HeapStats": 4, "GC/CreateSegment": 5,
    "GC/RestartEEStart": 7, "GC/SuspendEEStop": 8, "GC/SuspendEEStart": 9, "GC/AllocationTick": 10,
    "GC/FinalizersStop": 13, "GC/FinalizersStart": 14, "GC/FinalizeObject": 29,
    "GC/PinObjectAtGCTime": 33, "GC/Triggered": 35, "Runtime/Start": 187, "GC/MarkWithType": 202,
    "GC/PerHeapHistory": 204, "GC/GlobalHeapHistory": 205, "GC/LOHCompact": 208,
    "GC/FitBucketInfo": 209,
}
CLR_NAMES = {f"Microsoft-Windows-DotNETRuntime/{name}": (CLR, code)
             for name, code in CLR_EVENTS.items()}

# PerfView's field -> ours, where they differ, per type or for a class of types. None: PerfView
# computes it from other events (paths with drive letters, latencies between two events) or reads
# it from the wrong place, as said beside it.
RENAMED = {
    DISK_IO: {"FileKey": "FileObject", "FileName": None, "Priority": None,
              "IrpFlags": None, "ElapsedTimeMSec": None, "DiskServiceTimeMSec": None},
    PAGE_FAULT: {"ElapsedTimeMSec": None, "FileKey": "FileObject", "FileName": None},
    # The fields of the 16-bit class version 0, laid over newer ones: context is PID and size.
    UDP_IP: {"context": None, "dsize": None},
    IMAGE: {"ImageChecksum": "ImageCheckSum", "BuildTime": None, "FileName": None,
            # Read behind reserved fields that only exist in newer layouts.
            "TimeDateStamp": None, "DefaultBase": None},
    EVENT_TRACE: {"UtcOffsetMinutes": None, "SessionName": None, "LogFileName": None},
    # The process id is read four bytes too early: it shows the upper half of ImageSize, 0.
    IMAGE_ID: {"BuildTime": None, "ProcessID": None},
    KERNEL_FILE: {"IrpPtr": "Irp", "CreateDisposition": None, "CreateOptions": None,
                  "FileAttributes": "CreateAttributes", "ShareAccess": None, "FileName": None},
}
