#include "lib/net/pair.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#define FIRST     "zc0" /* the devices' names, in both namespaces */
#define SECOND    "zc1"
#define MASK_SIZE (9 * 8192 / 32 + 16) /* bytes of the longest mask */

/* An attribute of rtnetlink(7) with a value. */
struct text_attribute {
	struct rtattr a;
	char text[4];
};

/*
 * A request for two devices of one name that are joined, in this namespace and in another (veth(4)).  An
 * attribute that has attributes ends with the request.
 */
struct request {
	struct nlmsghdr header;
	struct ifinfomsg device;
	struct text_attribute name;
	struct rtattr info;
	struct text_attribute kind;
	struct rtattr data, peer;
	struct ifinfomsg peer_device;
	struct text_attribute peer_name;
	struct rtattr far_a;
	/* cppcheck-suppress unusedStructMember ; the kernel reads it */
	int far; /* /proc/self/ns/net of the other namespace */
};

/* Where the paths are made. */
struct namespaces {
	int far;  /* /proc/self/ns/net of the receiver */
	int mask; /* the RPS mask of devices that the far namespace gets; below 0 before Linux 6.3 */
	int near_socket, far_socket; /* by which their devices are configured */
};

static bool fail(char why[DIE_MAX], const char *what)
{
	snprintf(why, DIE_MAX, "%s: %s", what, strerror(errno));
	return false;
}

static int add_devices(const char name[4], int far)
{
	struct request r = {
		.header = {.nlmsg_len = sizeof(r),
			   .nlmsg_type = RTM_NEWLINK,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK},
		.name.a = {sizeof(r.name), IFLA_IFNAME},
		.info = {sizeof(r) - offsetof(struct request, info), IFLA_LINKINFO},
		.kind = {{sizeof(r.kind), IFLA_INFO_KIND}, {'v', 'e', 't', 'h'}},
		.data = {sizeof(r) - offsetof(struct request, data), IFLA_INFO_DATA},
		.peer = {sizeof(r) - offsetof(struct request, peer), VETH_INFO_PEER},
		.peer_name.a = {sizeof(r.peer_name), IFLA_IFNAME},
		.far_a = {sizeof(r) - offsetof(struct request, far_a), IFLA_NET_NS_FD},
		.far = far};
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	char reply[1024]; /* the answer with its header, the request and the kernel's text */
	struct nlmsgerr answer = {.error = -EIO};

	memcpy(r.name.text, name, 4);
	memcpy(r.peer_name.text, name, 4);
	if (fd >= 0 && send(fd, &r, sizeof(r), 0) > 0 &&
	    recv(fd, reply, sizeof(reply), 0) >= (ssize_t)NLMSG_LENGTH(sizeof(answer)))
		memcpy(&answer, reply + NLMSG_HDRLEN, sizeof(answer));
	if (fd >= 0)
		close(fd);
	errno = -answer.error;
	return errno == 0 ? 0 : -1;
}

static struct sockaddr_in address_of(const char *text)
{
	struct sockaddr_in a = {.sin_family = AF_INET};

	inet_pton(AF_INET, text, &a.sin_addr);
	return a;
}

/* Gives a device of the socket's namespace its address, and sets it up (netdevice(7)). */
static int configure(int fd, const char *name, const char *address)
{
	struct sockaddr_in a = address_of(address);
	struct ifreq r = {.ifr_flags = 0};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	memcpy(&r.ifr_addr, &a, sizeof(a));
	if (ioctl(fd, SIOCSIFADDR, &r) != 0)
		return -1;
	r.ifr_flags = IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &r);
}

/* Binds the receiving socket to an address and a free port, to which the other one sends. */
static int join(const struct pair *p, const char *address)
{
	struct sockaddr_in a = address_of(address);
	socklen_t size = sizeof(a);

	if (bind(p->receive, (struct sockaddr *)&a, size) != 0 ||
	    getsockname(p->receive, (struct sockaddr *)&a, &size) != 0)
		return -1;
	return connect(p->send, (struct sockaddr *)&a, size);
}

static int udp_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

int pair_local(struct pair *p, const char *address)
{
	*p = (struct pair){udp_socket(), udp_socket()};
	return join(p, address);
}

void pair_mask(int cpu, char *buf, size_t size)
{
	int i;

	snprintf(buf, size, "%x", 1u << cpu % 32);
	for (i = 0; i < cpu / 32; i++)
		string_append(buf, size, ",00000000");
}

/*
 * A network namespace, by a user namespace where the process may make none otherwise.  Its user has to
 * be mapped before: the namespace's files belong to root.
 */
static int make_namespace(void)
{
	const unsigned user = geteuid();
	char map[32];

	if (unshare(CLONE_NEWNET) == 0)
		return 0;
	snprintf(map, sizeof(map), "0 %u 1", user);
	if (unshare(CLONE_NEWUSER) != 0 || file_write("/proc/self", "uid_map", map) != 0)
		return -1;
	return unshare(CLONE_NEWNET);
}

/*
 * Before Linux 6.3 there is no mask for devices to come, and root writes that of a device into a
 * sysfs of the far namespace, for which any directory will do.
 */
static int open_masks(struct namespaces *ns)
{
	ns->mask = open_retry("/proc/sys/net/core/rps_default_mask", O_WRONLY);
	if (ns->mask >= 0)
		return 0;
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return -1;
	return mount("sysfs", "/sys/class/net", "sysfs", 0, NULL);
}

static int set_mask(const struct namespaces *ns, int cpu)
{
	char mask[MASK_SIZE];

	pair_mask(cpu, mask, sizeof(mask));
	if (ns->mask >= 0)
		return write(ns->mask, mask, strlen(mask)) < 0 ? -1 : 0;
	return file_write("/sys/class/net/class/net/" SECOND "/queues/rx-0", "rps_cpus", mask);
}

static bool open_path(const struct namespaces *ns, const char *name, const char *near,
		      const char *far, const struct pair *p, char why[DIE_MAX])
{
	if (add_devices(name, ns->far) != 0)
		return fail(why, "no veth devices");
	if (configure(ns->near_socket, name, near) != 0 ||
	    configure(ns->far_socket, name, far) != 0 || join(p, far) != 0)
		return fail(why, "veth devices without addresses");
	return true;
}

bool pair_open(int rps_cpu, struct pair pair[2], char why[DIE_MAX])
{
	struct namespaces ns;

	if (make_namespace() != 0)
		return fail(why, "no network namespace");
	ns.far = open_retry("/proc/self/ns/net", O_RDONLY);
	ns.far_socket = udp_socket();
	pair[0].receive = udp_socket();
	pair[1].receive = udp_socket();
	if (open_masks(&ns) != 0)
		return fail(why, "RPS: no rps_default_mask, and no /sys");
	if (unshare(CLONE_NEWNET) != 0)
		return fail(why, "no second network namespace");
	ns.near_socket = udp_socket();
	pair[0].send = udp_socket();
	pair[1].send = udp_socket();
	if (!open_path(&ns, FIRST, "192.168.0.1", "192.168.0.2", &pair[0], why))
		return false;
	if (ns.mask >= 0 && set_mask(&ns, rps_cpu) != 0)
		return fail(why, "RPS: rps_default_mask");
	if (!open_path(&ns, SECOND, "192.168.1.1", "192.168.1.2", &pair[1], why))
		return false;
	if (ns.mask < 0 && set_mask(&ns, rps_cpu) != 0)
		return fail(why, "RPS: rps_cpus, which only root may set before Linux 6.3");
	return true;
}
